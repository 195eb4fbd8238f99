// The plain functions on shapes. What would change nothing is not bound at all.

#include "ops/index_params.hpp"
#include "ops/lax.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail::lax {

Array broadcast_in_dim(const Array& a, const Shape& shape, const Dims& axes) {
  if (a.shape() == shape && axes == Dims::counting(shape.size())) return a;
  return bind1(broadcast_in_dim_op, make_params(BroadcastParams{shape, axes}), {a});
}

Array reshape(const Array& a, const Shape& shape) {
  if (a.shape() == shape) return a;
  return bind1(reshape_op, make_params(ReshapeParams{shape}), {a});
}

Array transpose(const Array& a, const Dims& permutation) {
  if (permutation == Dims::counting(permutation.size())) return a;
  return bind1(transpose_op, make_params(TransposeParams{permutation}), {a});
}

Array slice(const Array& a, const Dims& start, const Dims& limit, const Dims& stride) {
  SliceParams p{start, limit, stride.empty() ? Dims::filled(start.size(), 1) : stride};
  if (p.start == Dims::filled(start.size(), 0) && limit == a.shape() &&
      p.stride == Dims::filled(start.size(), 1))
    return a;
  return bind1(slice_op, make_params(p), {a});
}

Array reverse(const Array& a, const Dims& axes) {
  if (axes.empty()) return a;
  return bind1(reverse_op, make_params(ReverseParams{axes}), {a});
}

Array move_axis(const Array& a, int from, int to) {
  Dims permutation = Dims::counting(a.shape().size());
  permutation.erase(static_cast<std::size_t>(from));
  permutation.insert(static_cast<std::size_t>(to), from);
  return transpose(a, permutation);
}

Array expand_axis(const Array& a, int axis) {
  Shape shape = a.shape();
  shape.insert(static_cast<std::size_t>(axis), 1);
  return reshape(a, shape);
}

Array squeeze_axis(const Array& a, int axis) {
  Shape shape = a.shape();
  shape.erase(static_cast<std::size_t>(axis));
  return reshape(a, shape);
}

Array full(const Shape& shape, Dtype dtype, double value, bool weak) {
  return broadcast_in_dim(literal(dtype, value, weak), shape, {});
}

Array full_like(const Aval& aval, double value) {
  return full(aval.shape(), aval.dtype(), value, aval.weak());
}

Array iota(Dtype dtype, const Shape& shape, int axis) {
  return bind1(iota_op, make_params(IotaParams{dtype, shape, axis}), {});
}

Array concatenate(std::span<const Array> parts, int axis) {
  if (parts.size() == 1) return parts[0];
  Array out;
  bind(concatenate_op, make_params(ConcatenateParams{axis}), parts, {&out, 1});
  return out;
}

Array pad(const Array& a, const Array& value, const Dims& low, const Dims& high, const Dims& interior) {
  PadParams p{low, high, interior.empty() ? Dims::filled(low.size(), 0) : interior};
  Dims none = Dims::filled(low.size(), 0);
  if (p.low == none && p.high == none && p.interior == none) return a;
  return bind1(pad_op, make_params(p), {a, value});
}

Array dynamic_slice(const Array& a, std::span<const Array> starts, const Shape& sizes) {
  if (sizes == a.shape()) return a;  // every start is clamped to 0
  std::vector<Array> operands{a};
  operands.insert(operands.end(), starts.begin(), starts.end());
  Array out;
  bind(dynamic_slice_op, make_params(DynamicSliceParams{sizes}), operands, {&out, 1});
  return out;
}

Array dynamic_update_slice(const Array& a, const Array& update, std::span<const Array> starts) {
  std::vector<Array> operands{a, update};
  operands.insert(operands.end(), starts.begin(), starts.end());
  Array out;
  bind(dynamic_update_slice_op, {}, operands, {&out, 1});
  return out;
}

namespace {

std::vector<Array> starts_along_first(const Array& a, const Array& index) {
  std::vector<Array> starts(a.shape().size(), literal(Dtype::I64, 0));
  starts[0] = index;
  return starts;
}

}  // namespace

Array dynamic_index(const Array& a, const Array& index) {
  Shape sizes = a.shape();
  sizes[0] = 1;
  return squeeze_axis(dynamic_slice(a, starts_along_first(a, index), sizes), 0);
}

Array dynamic_update_index(const Array& a, const Array& entry, const Array& index) {
  return dynamic_update_slice(a, expand_axis(entry, 0), starts_along_first(a, index));
}

Array gather(const Array& a, const Array& indices, const GatherParams& params) {
  return bind1(gather_op, make_params(params), {a, indices});
}

Array entries_at(const Array& a, const Array& places, std::int64_t axis) {
  GatherParams p;
  p.slice_sizes = Dims::filled(a.shape().size(), 1);
  p.start_index_map = p.collapsed_slice_dims = {axis};
  for (std::int64_t i = 0; i < a.ndim(); ++i)
    if (i != axis) p.operand_batching_dims.push_back(i);
  p.start_indices_batching_dims = p.operand_batching_dims;
  return gather(a, expand_axis(places, a.ndim()), p);
}

Array scatter(const Array& a, const Array& indices, const Array& updates, const ScatterParams& params) {
  return bind1(scatter_op, make_params(params), {a, indices, updates});
}

}  // namespace apsis::detail::lax
