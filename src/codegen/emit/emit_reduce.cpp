// Reductions over axes of arrays in memory, in the order of ops/sum_order.hpp.

#include <algorithm>

#include "codegen/emit/combine.hpp"
#include "codegen/emit/region.hpp"
#include "ops/sum_order.hpp"
#include "ops/table.hpp"

namespace apsis::detail {
namespace {

int partials_of(std::int64_t count) {
  return count < sum_sequential_below     ? 1
         : count < sum_few_partials_below ? sum_few_partials
                                          : sum_many_partials;
}

}  // namespace

/// What one line of a reduction needs: element i of the line is at `start` + i · stride.
struct Region::ReduceLine {
  const Combine& combine;
  LoopNest& nest;
  Dtype dtype, compute;
  std::int64_t stride, bytes;
  bool contiguous;  // one result at a time: neighbouring elements are the vector
};

bool Region::emit_reduce(const Eqn& e) {
  constexpr const Op* plain[] = {&reduce_sum_op, &reduce_prod_op, &reduce_max_op,
                                 &reduce_min_op, &reduce_and_op,  &reduce_or_op};
  if (std::ranges::find(plain, e.op) == std::end(plain)) return false;
  const Dims& axes = e.params.as<ReduceParams>().axes;
  ValueId operand = graph_.operands(e)[0];
  const Aval &in = graph_.aval(operand), &out = graph_.aval(e.first_result);
  Dtype dtype = in.dtype(), compute = combined_dtype(dtype);
  if (is_complex(dtype) || in.size() == 0) return false;
  Place from = in_memory(places_[operand], in);

  // The reduced axes as one walk, and the others as a view of the result's shape.
  std::int64_t count = 1, stride = 0;
  View view{out.shape(), {}, from.view.offset};
  for (std::size_t d = in.shape().size(); d-- > 0;) {
    std::int64_t n = in.shape()[d];
    if (!axes.contains(static_cast<std::int64_t>(d)) || n == 1) continue;
    if (count == 1)
      stride = from.view.strides[d];
    else if (from.view.strides[d] != stride * count) {
      if (from.view.is_contiguous()) return false;
      from = this->contiguous(from, in);
      view.offset = from.view.offset;
      d = in.shape().size();
      count = 1;
      continue;
    }
    count *= n;
  }
  for (std::size_t d = 0; d < in.shape().size(); ++d)
    if (!axes.contains(static_cast<std::int64_t>(d))) view.strides.push_back(from.view.strides[d]);

  int lanes = from.lanes;
  bool along =
      lanes == 1 && stride == 1 && count >= sum_sequential_below && lowering_.options().vector_lanes != 1;
  const Destination result = in_registers(out) ? allocate(out, lanes) : destination(e.first_result, lanes);
  const Sink sink = result.sink(dtype);
  LoopNest nest(b_, out.shape(), {{view, from.base, dtype, lanes}}, {&sink, 1},
                along || lanes > 1 ? 1 : lowering_.vector_lanes(item_size(compute)), lanes);
  Combine combine(b_, *e.op, compute);
  ReduceLine line{combine, nest, dtype, compute, stride, bytes_of(from, dtype), along};
  nest.open();
  Value total = reduce_blocks(line, count);
  b_.set_lanes(b_.lanes_of(total));
  nest.store(0, compute == dtype ? total : b_.convert(total, dtype));
  nest.close();
  ++lowering_.loops;
  if (in_registers(out))
    define_loaded(e.first_result, result.place());
  else
    define(e.first_result, result.place());
  return true;
}

/// Blocks of `sum_block` elements, combined in order.
Value Region::reduce_blocks(const ReduceLine& line, std::int64_t count) {
  std::int64_t full = count / sum_block, rest = count % sum_block;
  if (full == 0) return reduce_block(line, {}, rest);
  Value total = reduce_block(line, {}, sum_block);
  if (full > 1) {
    CountedLoop loop(b_, full - 1, 1, {&total, 1});
    Value bytes = b_.mul(b_.add(loop.index(), b_.index(1)), b_.index(sum_block * line.stride * line.bytes));
    total = line.combine(total, reduce_block(line, bytes, sum_block));
    loop.close();
  }
  if (rest) {
    b_.set_lanes(1);
    total =
        line.combine(total, reduce_block(line, b_.index(full * sum_block * line.stride * line.bytes), rest));
  }
  return total;
}

Value Region::reduce_block(const ReduceLine& line, Value start, std::int64_t count) {
  return line.contiguous ? reduce_along(line, start, count) : reduce_across(line, start, count);
}

/// One result: the partial sums are the lanes of a vector.
Value Region::reduce_along(const ReduceLine& line, Value start, std::int64_t count) {
  int partials = partials_of(count);
  auto address = [&](Value bytes) {
    b_.set_lanes(1);
    if (!start.handle) return bytes;
    return bytes.handle ? b_.add(start, bytes) : start;
  };
  auto load = [&](Value bytes, int width) {
    Value v = line.nest.load_vector(0, address(bytes), width);
    return line.compute == line.dtype ? v : b_.convert(v, line.compute);
  };
  if (partials == 1) {
    Value total = load({}, 1);
    for (std::int64_t i = 1; i < count; ++i) {
      b_.set_lanes(1);
      total = line.combine(total, load(b_.index(i * line.bytes), 1));
    }
    return total;
  }
  Value partial = load({}, partials);
  std::int64_t groups = count / partials, rest = count % partials;
  if (groups > 1) {
    CountedLoop loop(b_, groups - 1, 1, {&partial, 1});
    Value bytes = b_.mul(b_.add(loop.index(), b_.index(1)), b_.index(partials * line.bytes));
    partial = line.combine(partial, load(bytes, partials));
    loop.close();
  }
  // The last elements meet the first partial sums; lanes without one keep theirs.
  for (std::int64_t j = 0; j < rest; ++j) {
    b_.set_lanes(1);
    Value x = load(b_.index((groups * partials + j) * line.bytes), 1);
    partial =
        b_.insert(partial, static_cast<int>(j), line.combine(b_.extract(partial, static_cast<int>(j)), x));
  }
  return line.combine.across(partial);
}

/// Several results, or lanes, at once: each partial sum is a vector of them.
Value Region::reduce_across(const ReduceLine& line, Value start, std::int64_t count) {
  int partials = partials_of(count), width = line.nest.width();
  auto element = [&](Value bytes) {
    b_.set_lanes(1);
    if (start.handle) bytes = bytes.handle ? b_.add(start, bytes) : start;
    Value v = line.nest.load(0, 0, bytes);
    b_.set_lanes(b_.lanes_of(v));
    if (line.compute != line.dtype) v = b_.convert(v, line.compute);
    b_.set_lanes(width);
    return width > 1 && b_.lanes_of(v) == 1 ? b_.splat(v) : v;
  };
  auto at = [&](std::int64_t i) {
    b_.set_lanes(1);
    return b_.index(i * line.stride * line.bytes);
  };
  // Elements `first`, `first` + step, …, `terms` of them.
  auto strided = [&](Value first, std::int64_t step, std::int64_t terms) {
    Value total = element(first);
    if (terms == 1) return total;
    CountedLoop loop(b_, terms - 1, 1, {&total, 1});
    Value bytes = b_.mul(b_.add(loop.index(), b_.index(1)), at(step));
    total = line.combine(total, element(b_.add(first, bytes)));
    loop.close();
    return total;
  };
  if (partials == 1) return strided(at(0), 1, count);

  // Partial sums j < rest have one element more.
  b_.set_lanes(1);
  std::int64_t vector_bytes = static_cast<std::int64_t>(item_size(line.compute)) * width;
  Pointer sums = b_.stack(static_cast<std::size_t>(vector_bytes * partials));
  std::int64_t terms = count / partials, rest = count % partials;
  auto run = [&](std::int64_t first, std::int64_t n, std::int64_t each) {
    if (n == 0) return;
    b_.set_lanes(1);
    CountedLoop loop(b_, n, 1);
    Value j = b_.add(loop.index(), b_.index(first));
    Value total = strided(b_.mul(j, at(1)), partials, each);
    b_.set_lanes(1);
    Pointer slot = b_.offset(sums, b_.mul(j, b_.index(vector_bytes)));
    b_.store(slot, total);
    loop.close();
  };
  run(0, rest, terms + 1);
  run(rest, partials - rest, terms);
  std::vector<Value> partial;
  for (int j = 0; j < partials; ++j) {
    b_.set_lanes(width);
    partial.push_back(b_.load(b_.offset(sums, j * vector_bytes), line.compute));
  }
  for (int half = partials / 2; half > 0; half /= 2)
    for (int j = 0; j < half; ++j)
      partial[static_cast<std::size_t>(j)] =
          line.combine(partial[static_cast<std::size_t>(j)], partial[static_cast<std::size_t>(j + half)]);
  return partial[0];
}

}  // namespace apsis::detail
