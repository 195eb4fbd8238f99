#include "ops/index_rules.hpp"

#include <algorithm>
#include <cstring>

namespace apsis::detail {

Array batched_front(const Array& operand, int axis, std::int64_t size) {
  if (axis >= 0) return axis == 0 ? operand : lax::move_axis(operand, axis, 0);
  Shape shape = operand.shape();
  shape.insert(0, size);
  Dims axes = Dims::counting(operand.shape().size());
  for (std::int64_t& a : axes) ++a;
  return lax::broadcast_in_dim(operand, shape, axes);
}

std::uint64_t element_bits(Dtype dtype, double value) {
  APSIS_ASSERT(!is_complex(dtype));
  Array scalar = literal(dtype, value);
  std::uint64_t bits = 0;
  std::memcpy(&bits, data_of(scalar), item_size(dtype));
  return bits;
}

bool fits(const GatherParams& p, const Shape& operand, const Shape& indices) {
  const auto are_axes = [](const Dims& axes, std::int64_t rank) {
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] < 0 || axes[i] >= rank ||
          std::find(axes.begin(), axes.begin() + i, axes[i]) != axes.begin() + i)
        return false;
    return true;
  };
  const std::int64_t batch = indices.rank() - 1;
  const std::size_t dropped = p.collapsed_slice_dims.size() + p.operand_batching_dims.size();
  if (!are_axes(p.collapsed_slice_dims, operand.rank()) ||
      !are_axes(p.operand_batching_dims, operand.rank()) || !are_axes(p.start_index_map, operand.rank()) ||
      !are_axes(p.start_indices_batching_dims, batch) ||
      p.operand_batching_dims.size() != p.start_indices_batching_dims.size() || dropped > operand.size() ||
      p.offset_dims.size() != operand.size() - dropped ||
      !are_axes(p.offset_dims, batch + static_cast<std::int64_t>(p.offset_dims.size())))
    return false;
  for (std::int64_t axis : p.operand_batching_dims)
    if (p.collapsed_slice_dims.contains(axis) || p.start_index_map.contains(axis)) return false;
  for (const Dims* axes : {&p.collapsed_slice_dims, &p.operand_batching_dims})
    for (std::int64_t axis : *axes)
      if (p.slice_sizes[static_cast<std::size_t>(axis)] != 1) return false;
  for (std::size_t k = 0; k < p.operand_batching_dims.size(); ++k)
    if (indices[static_cast<std::size_t>(p.start_indices_batching_dims[k])] >
        operand[static_cast<std::size_t>(p.operand_batching_dims[k])])
      return false;
  return true;
}

Placement::Placement(const GatherParams& p, const Shape& operand, const Shape& indices)
    : Placement(p, operand, View::contiguous(operand).strides, indices) {}

Placement::Placement(const GatherParams& p, const Shape& operand, const Dims& strides_of_operand,
                     const Shape& indices) {
  batch = indices;
  vector_length = indices.back();
  batch.erase(batch.size() - 1);
  rows = batch.product();
  slice = p.slice_sizes;
  operand_strides = strides_of_operand;

  // The result's axes: offset_dims belong to the kept axes of the slice, in order, the others to the row's.
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < slice.size(); ++i) {
    auto axis = static_cast<std::int64_t>(i);
    if (!p.collapsed_slice_dims.contains(axis) && !p.operand_batching_dims.contains(axis)) kept.push_back(i);
  }
  std::size_t next_kept = 0, next_batch = 0;
  for (std::size_t i = 0; i < kept.size() + batch.size(); ++i)
    result.push_back(p.offset_dims.contains(static_cast<std::int64_t>(i)) ? slice[kept[next_kept++]]
                                                                          : batch[next_batch++]);
  Dims strides = View::contiguous(result).strides;
  slice_strides = Dims::filled(slice.size(), 0);
  next_kept = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (p.offset_dims.contains(static_cast<std::int64_t>(i)))
      slice_strides[kept[next_kept++]] = strides[i];
    else
      batch_strides.push_back(strides[i]);
  }

  for (std::size_t k = 0; k < p.start_index_map.size(); ++k) {
    auto axis = static_cast<std::size_t>(p.start_index_map[k]);
    starts.push_back({static_cast<std::int64_t>(k), operand[axis] - slice[axis], operand_strides[axis]});
  }
  for (std::size_t k = 0; k < p.operand_batching_dims.size(); ++k)
    shared.push_back({static_cast<std::size_t>(p.start_indices_batching_dims[k]),
                      operand_strides[static_cast<std::size_t>(p.operand_batching_dims[k])]});
}

Placement::Pair Placement::base(std::int64_t row) const {
  Pair at{0, 0};
  for (std::size_t i = batch.size(); i-- > 0; row /= batch[i]) {
    std::int64_t coordinate = row % batch[i];
    at.result += coordinate * batch_strides[i];
    for (const Shared& s : shared)
      if (s.batch_axis == i) at.operand += coordinate * s.stride;
  }
  return at;
}

Placement Placement::some(std::int64_t first, std::int64_t end) const {
  Placement part = *this;
  part.rows = rows / batch[0] * (end - first);
  part.batch[0] = end - first;
  return part;
}

Dims Placement::operand_steps() const {
  Dims steps = Dims::filled(batch.size(), 0);
  for (const Shared& s : shared) steps[s.batch_axis] += s.stride;
  return steps;
}

std::int64_t Placement::piece() const {
  std::int64_t elements = 1;
  for (std::size_t i = slice.size(); i-- > 0;) {
    if (slice[i] == 1) continue;
    if (operand_strides[i] != elements || slice_strides[i] != elements) return 0;
    elements *= slice[i];
  }
  return elements;
}

std::vector<Placement::Pair> Placement::elements() const {
  std::vector<Pair> pairs;
  View in_operand{slice, operand_strides, 0}, in_result{slice, slice_strides, 0};
  for (std::int64_t i = 0, n = slice.product(); i < n; ++i)
    pairs.push_back({in_operand.at(i), in_result.at(i)});
  return pairs;
}

EmittedStart::EmittedStart(Emitter& e, Value start, std::int64_t limit, std::int64_t stride)
    : start_(start), limit_(limit), stride_(stride) {
  for (std::int64_t p = 1; p <= limit; ++p)
    at_least_.push_back(e.compare(Compare::Ge, start, e.constant(Dtype::I64, static_cast<std::uint64_t>(p))));
}

Condition EmittedStart::equals(Emitter& e, std::int64_t p) const {
  Condition lower, upper;
  if (p > 0) lower = at_least(p);
  if (p < limit_) upper = e.bit_not(at_least(p + 1));
  return emit_both(e, lower, upper);
}

Value EmittedStart::inside(Emitter& e) const {
  return e.bit_and(
      e.compare(Compare::Ge, start_, e.constant(Dtype::I64, 0)),
      e.compare(Compare::Le, start_, e.constant(Dtype::I64, static_cast<std::uint64_t>(limit_))));
}

Condition emit_both(Emitter& e, const Condition& a, const Condition& b) {
  if (!a) return b;
  if (!b) return a;
  return e.bit_and(*a, *b);
}

Value emit_choice(Emitter& e, const Condition& condition, Value if_true, Value if_false) {
  return condition ? e.select(*condition, if_true, if_false) : if_true;
}

Value emit_pick(Emitter& e, std::span<const EmittedStart> starts, std::span<const Value> elements,
                std::int64_t offset) {
  if (starts.empty()) return elements[static_cast<std::size_t>(offset)];
  const EmittedStart& first = starts.front();
  Value picked = emit_pick(e, starts.subspan(1), elements, offset);
  for (std::int64_t p = 1; p <= first.limit(); ++p) {
    Value here = emit_pick(e, starts.subspan(1), elements, offset + p * first.stride());
    picked = e.select(first.at_least(p), here, picked);
  }
  return picked;
}

}  // namespace apsis::detail
