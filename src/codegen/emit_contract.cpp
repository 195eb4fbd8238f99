// Contractions whose order of accumulation is fixed (see dot_params.hpp): a loop over the results, several of them in
// flight, around a loop over the contracted elements. Others, the large ones, are calls of the kernel, which uses BLAS.

#include <algorithm>

#include "codegen/products.hpp"
#include "codegen/region.hpp"
#include "codegen/row_contraction.hpp"
#include "ops/dot_order.hpp"
#include "ops/dot_params.hpp"

namespace apsis::detail {
namespace {

constexpr int in_flight = 4;               // vectors of sums, to hide the latency of multiply-add
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
  // A vector that meets the rows of a matrix is read as they are.
  const bool in_chains = is_floating(compute) && sizes.k >= dot_sequential_below;
  if (in_chains && a.lanes == 1 && b.lanes == 1 && p.contract_a.size() == 1) {
    const auto axis_a = static_cast<std::size_t>(p.contract_a[0]), axis_b = static_cast<std::size_t>(p.contract_b[0]);
    const bool rows_a = a.view.strides[axis_a] == 1, rows_b = b.view.strides[axis_b] == 1;
    if (sizes.n == 1 && rows_a && !rows_b) b = packed(b, in_b, axis_b);
    else if (sizes.m == 1 && rows_b && !rows_a) a = packed(a, in_a, axis_a);
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
  if (lanes == 1 && knows_row_contraction(dtype, shape.empty() ? 1 : shape.back(), sizes.k, vector)) {
    const std::int64_t apart_a = shape.empty() ? 0 : view_a.strides.back(),
                       apart_b = shape.empty() ? 0 : view_b.strides.back();
    const bool read_alike = !in_chains || (step_a == 1 && step_b == 1);
    const bool rows_of_a = apart_a > 1 && apart_b == 0 && step_a == 1 && read_alike,
               rows_of_b = apart_b > 1 && apart_a == 0 && step_b == 1 && read_alike;
    // Where the chains are the vector, each result may be a row of its own.
    const bool lone = !rows_of_a && !rows_of_b && in_chains && step_a == 1 && step_b == 1;
    if (rows_of_a || rows_of_b || lone) {
      Access access_a{view_a, a.base, dtype}, access_b{view_b, b.base, dtype};
      RowContraction rows{.shape = shape,
                          .matrix = rows_of_b ? access_b : access_a,
                          .vector = rows_of_b ? access_a : access_b,
                          .result = {view, result.base, dtype},
                          .rows = lone ? 1 : shape.back(),
                          .columns = sizes.k,
                          .row_stride = rows_of_b ? apart_b : apart_a,
                          .vector_stride = rows_of_b ? step_a : step_b,
                          .result_stride = lone ? 1 : view.strides.back()};
      if (!lone) {
        rows.shape.erase(rows.shape.size() - 1);
        for (Access* access : {&rows.matrix, &rows.vector, &rows.result}) {
          access->view.shape = rows.shape;
          access->view.strides.erase(rows.shape.size());
        }
      }
      write_row_contraction(b_, rows, vector);
      return finish();
    }
  }
  // Vectors of neighbouring results; in packets, where the lanes are the vector, several results at once.
  std::int64_t group = 1;
  ProductSteps steps{step_a, step_b};
  int width = 1;
  if (lanes == 1) {
    width = in_flight * vector;
  } else if (!shape.empty()) {
    std::size_t last = shape.size() - 1;
    // Two chains at a time; registers hold the operands and the sums at rest, too.
    const std::int64_t most_sums = b_.vector_bytes() == 64 ? 16 : 8;
    const std::int64_t registers = std::max<std::int64_t>(1, lanes / vector),
                       most = in_chains ? most_sums / (2 * registers) : 2 * in_flight;
    for (std::int64_t g = 2; g <= most; ++g)
      if (shape[last] % g == 0) group = g;
    steps.shift_a = view_a.strides[last];
    steps.shift_b = view_b.strides[last];
    steps.shift = view.strides[last];
    shape[last] /= group;
    for (View* v : {&view_a, &view_b, &view}) {
      v->shape = shape;
      v->strides[last] *= group;
    }
  }

  LoopNest nest(b_, shape, {{view_a, a.base, dtype, a.lanes}, {view_b, b.base, dtype, b.lanes}, {view, result.base, dtype, lanes}},
                width, lanes);
  nest.open();
  steps.bytes_a = step_a * bytes_of(a, dtype);
  steps.bytes_b = step_b * bytes_of(b, dtype);
  const Products products(b_, nest, steps, dtype, compute, group);
  const std::vector<Value> sums = in_chains ? products.in_chains(sizes.k) : products.in_order(sizes.k);
  for (std::int64_t g = 0; g < group; ++g) {
    Value sum = sums[static_cast<std::size_t>(g)];
    b_.set_lanes(b_.lanes_of(sum));
    nest.store(2, compute == dtype ? sum : b_.convert(sum, dtype), g * steps.shift);
  }
  nest.close();
  return finish();
}

}  // namespace apsis::detail
