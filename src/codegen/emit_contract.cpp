// Contractions whose order of accumulation is fixed (see dot_params.hpp): a loop over the results, several of them in
// flight, around a loop over the contracted elements. Others, the large ones, are calls of the kernel, which uses BLAS.

#include <algorithm>

#include "codegen/region.hpp"
#include "codegen/row_contraction.hpp"
#include "ops/dot_params.hpp"

namespace apsis::detail {
namespace {

constexpr int in_flight = 4;               // vectors of sums, to hide the latency of multiply-add
constexpr std::int64_t unrolled_steps = 4;  // contractions this short need no loop
constexpr std::int64_t packing_reuse = 4;   // reading an operand so often pays for a copy in the order of reading

/// The contracted axes as one walk through both operands; false if they are not one.
bool merge_contracted(const DotParams& p, const View& a, const View& b, std::int64_t& stride_a, std::int64_t& stride_b) {
  stride_a = stride_b = 0;
  std::int64_t count = 1;
  for (std::size_t i = p.contract_a.size(); i-- > 0;) {
    auto axis_a = static_cast<std::size_t>(p.contract_a[i]), axis_b = static_cast<std::size_t>(p.contract_b[i]);
    std::int64_t n = a.shape[axis_a];
    if (n == 1) continue;
    if (count == 1) {
      stride_a = a.strides[axis_a];
      stride_b = b.strides[axis_b];
    } else if (a.strides[axis_a] != stride_a * count || b.strides[axis_b] != stride_b * count) {
      return false;
    }
    count *= n;
  }
  return true;
}

}  // namespace

/// A copy with the elements along `axis` next to each other.
Place Region::packed(const Place& place, const Aval& aval, std::size_t axis) {
  Place copy_of = allocate(aval, place.lanes);
  std::int64_t step = aval.shape()[axis];
  copy_of.view.strides[axis] = 1;
  for (std::size_t d = aval.shape().size(); d-- > 0;) {
    if (d == axis) continue;
    copy_of.view.strides[d] = step;
    step *= aval.shape()[d];
  }
  copy(place, aval, copy_of);
  return copy_of;
}

bool Region::emit_contract(const Eqn& e) {
  const auto& p = e.params.as<DotParams>();
  auto operands = graph_.operands(e);
  const Aval &in_a = graph_.aval(operands[0]), &in_b = graph_.aval(operands[1]), &out = graph_.aval(e.first_result);
  DotSizes sizes(p, in_a.shape(), in_b.shape());
  Dtype dtype = out.dtype(), compute = item_size(dtype) == 2 && is_floating(dtype) ? Dtype::F32 : dtype;
  if (is_complex(dtype) || !is_k_ordered(p, in_a.shape(), in_b.shape()) || out.size() == 0 || sizes.k == 0) return false;
  Place a = in_memory(places_[operands[0]], in_a), b = in_memory(places_[operands[1]], in_b);
  // Neighbouring results read neighbours along the last free axis of b. Where these lie apart, b is transposed first,
  // if enough rows of a share the work.
  if (a.lanes == 1 && b.lanes == 1 && !sizes.free_b.empty() && sizes.n >= 4 && sizes.m >= packing_reuse) {
    auto last = static_cast<std::size_t>(sizes.free_b.back());
    if (b.view.strides[last] != 1 && b.view.strides[last] != 0) b = packed(b, in_b, last);
  }
  std::int64_t step_a = 0, step_b = 0;
  if (!merge_contracted(p, a.view, b.view, step_a, step_b)) {
    a = contiguous(a, in_a);
    b = contiguous(b, in_b);
    if (!merge_contracted(p, a.view, b.view, step_a, step_b)) return false;
  }

  // Both operands and the result as views of the result's shape.
  View view_a{out.shape(), {}, a.view.offset}, view_b{out.shape(), {}, b.view.offset};
  auto walk = [](View& view, const View& from, const Dims& axes) {
    for (std::int64_t axis : axes) view.strides.push_back(from.strides[static_cast<std::size_t>(axis)]);
  };
  walk(view_a, a.view, p.batch_a);
  walk(view_a, a.view, sizes.free_a);
  for (std::size_t i = 0; i < sizes.free_b.size(); ++i) view_a.strides.push_back(0);
  walk(view_b, b.view, p.batch_b);
  for (std::size_t i = 0; i < sizes.free_a.size(); ++i) view_b.strides.push_back(0);
  walk(view_b, b.view, sizes.free_b);

  int lanes = std::max(a.lanes, b.lanes);
  Place result = in_registers(out) ? allocate(out, lanes) : destination(e.first_result, lanes);
  View view = result.view;
  Shape shape = out.shape();
  auto finish = [&] {
    ++lowering_.loops;
    if (in_registers(out)) define_loaded(e.first_result, result);
    else define(e.first_result, std::move(result));
    return true;
  };
  const int vector = lowering_.vector_lanes(item_size(compute));
  if (lanes == 1 && !shape.empty() && knows_row_contraction(dtype, shape.back(), sizes.k, vector)) {
    std::int64_t apart_a = view_a.strides.back(), apart_b = view_b.strides.back();
    bool rows_of_a = apart_a > 1 && apart_b == 0 && step_a == 1, rows_of_b = apart_b > 1 && apart_a == 0 && step_b == 1;
    if (rows_of_a || rows_of_b) {
      Access access_a{view_a, a.base, dtype}, access_b{view_b, b.base, dtype};
      RowContraction rows{.shape = shape,
                          .matrix = rows_of_a ? access_a : access_b,
                          .vector = rows_of_a ? access_b : access_a,
                          .result = {view, result.base, dtype},
                          .rows = shape.back(),
                          .columns = sizes.k,
                          .row_stride = rows_of_a ? apart_a : apart_b,
                          .vector_stride = rows_of_a ? step_b : step_a,
                          .result_stride = view.strides.back()};
      rows.shape.erase(rows.shape.size() - 1);
      for (Access* access : {&rows.matrix, &rows.vector, &rows.result}) {
        access->view.shape = rows.shape;
        access->view.strides.erase(rows.shape.size());
      }
      write_row_contraction(b_, rows, vector);
      return finish();
    }
  }
  // Vectors of neighbouring results; in packets, where the lanes are the vector, several results at once.
  std::int64_t group = 1, shift_a = 0, shift_b = 0, shift = 0;
  int width = 1;
  if (lanes == 1) {
    width = in_flight * vector;
  } else if (!shape.empty()) {
    std::size_t last = shape.size() - 1;
    for (std::int64_t g = 2; g <= 2 * in_flight; ++g)
      if (shape[last] % g == 0) group = g;
    shift_a = view_a.strides[last];
    shift_b = view_b.strides[last];
    shift = view.strides[last];
    shape[last] /= group;
    for (View* v : {&view_a, &view_b, &view}) {
      v->shape = shape;
      v->strides[last] *= group;
    }
  }

  LoopNest nest(b_, shape, {{view_a, a.base, dtype, a.lanes}, {view_b, b.base, dtype, b.lanes}, {view, result.base, dtype, lanes}},
                width, lanes);
  nest.open();
  b_.set_lanes(nest.width());
  std::vector<Value> sums(static_cast<std::size_t>(group), b_.constant(compute, 0));
  auto load = [&](std::size_t access, std::int64_t at, Value bytes) {
    Value v = nest.load(access, at, bytes);
    b_.set_lanes(b_.lanes_of(v));
    return compute == dtype ? v : b_.convert(v, compute);
  };
  auto accumulate = [&](std::int64_t i, Value bytes_a, Value bytes_b) {
    Value x, y;
    for (std::int64_t g = 0; g < group; ++g) {
      if (g == 0 || shift_a != 0) x = load(0, i * step_a + g * shift_a, bytes_a);
      if (g == 0 || shift_b != 0) y = load(1, i * step_b + g * shift_b, bytes_b);
      Value& sum = sums[static_cast<std::size_t>(g)];
      Value in[] = {x, y, sum};
      align(in);
      if (is_floating(compute)) sum = b_.fma(in[0], in[1], in[2]);
      else if (compute == Dtype::Bool) sum = b_.bit_or(in[2], b_.bit_and(in[0], in[1]));
      else sum = b_.add(in[2], b_.mul(in[0], in[1]));
    }
  };
  if (sizes.k <= unrolled_steps) {
    for (std::int64_t i = 0; i < sizes.k; ++i) accumulate(i, {}, {});
  } else {
    Block before = b_.position();
    CountedLoop loop(b_, sizes.k, 1);
    b_.set_lanes(nest.width());
    std::vector<Value> phis;
    for (Value& sum : sums) {
      phis.push_back(b_.phi(compute));
      b_.add_incoming(phis.back(), sum, before);
      sum = phis.back();
    }
    b_.set_lanes(1);
    Value bytes_a = b_.mul(loop.index(), b_.index(step_a * bytes_of(a, dtype)));
    Value bytes_b = b_.mul(loop.index(), b_.index(step_b * bytes_of(b, dtype)));
    accumulate(0, bytes_a, bytes_b);
    for (std::size_t g = 0; g < sums.size(); ++g) b_.add_incoming(phis[g], sums[g], b_.position());
    loop.close();
  }
  for (std::int64_t g = 0; g < group; ++g) {
    Value sum = sums[static_cast<std::size_t>(g)];
    b_.set_lanes(b_.lanes_of(sum));
    nest.store(2, compute == dtype ? sum : b_.convert(sum, dtype), g * shift);
  }
  nest.close();
  return finish();
}

}  // namespace apsis::detail
