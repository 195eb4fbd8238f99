#include "apsis/ops/gather_scatter.hpp"

#include <algorithm>

#include "ops/index_params.hpp"
#include "ops/lax.hpp"
#include "ops/messages.hpp"

namespace apsis {
namespace lax = detail::lax;
namespace {

using detail::GatherParams;

/// Throws with what does not fit of a gather, or of the gather that a scatter is the reverse of.
class Check {
 public:
  Check(const char* where, const Array& x, const Array& indices, Loc loc)
      : where_(where), x_(x), indices_(indices), loc_(loc) {}

  void that(bool fits, const std::string& what) const {
    if (!fits)
      fail(messages::gather_dimensions, {where_, to_string(x_.aval()), to_string(indices_.aval()), what},
           loc_);
  }

  /// Different axes of an array of that rank.
  void axes(const Dims& dims, std::int64_t rank, bool ascending, const char* name) const {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      that(dims[i] >= 0 && dims[i] < rank,
           std::string(name) + " below " + std::to_string(rank) + ", not axis " + std::to_string(dims[i]));
      for (std::size_t j = 0; j < i; ++j)
        that(ascending ? dims[j] < dims[i] : dims[j] != dims[i],
             std::string(name) + (ascending ? " in ascending order" : " that names no axis twice"));
    }
  }

  void numbers(const GatherParams& p) const {
    const Shape &shape = x_.shape(), &of_indices = indices_.shape();
    const std::int64_t rank = shape.rank(), rows = of_indices.rank() - 1;
    that(is_integer(indices_.dtype()), "integers as indices");
    that(rows >= 0, "an axis of index vectors, the last of the indices");
    axes(p.collapsed_slice_dims, rank, true, "collapsed_slice_dims");
    axes(p.start_index_map, rank, false, "start_index_map");
    axes(p.operand_batching_dims, rank, true, "operand_batching_dims");
    axes(p.start_indices_batching_dims, rows, false, "start_indices_batching_dims");
    that(p.start_index_map.rank() == of_indices.back(),
         "an axis in start_index_map for each entry of an index vector");
    that(p.slice_sizes.rank() == rank, "a size of slices for each axis of the array");
    for (std::size_t i = 0; i < shape.size(); ++i)
      that(p.slice_sizes[i] >= 0 && p.slice_sizes[i] <= shape[i], "slices no longer than the array, not " +
                                                                      std::to_string(p.slice_sizes[i]) +
                                                                      " along axis " + std::to_string(i));
    batches(p);
    const std::int64_t kept = rank - p.collapsed_slice_dims.rank() - p.operand_batching_dims.rank();
    that(p.offset_dims.rank() == kept,
         "an axis in offset_dims for each of the slices that is neither collapsed nor batched");
    axes(p.offset_dims, rows + kept, true, "offset_dims");
  }

 private:
  void batches(const GatherParams& p) const {
    that(p.operand_batching_dims.size() == p.start_indices_batching_dims.size(),
         "as many batching axes of the array as of the indices");
    for (std::size_t i = 0; i < p.operand_batching_dims.size(); ++i) {
      const auto at = static_cast<std::size_t>(p.operand_batching_dims[i]);
      that(x_.shape()[at] == indices_.dim(static_cast<int>(p.start_indices_batching_dims[i])),
           "batching axes of equal sizes");
      that(!p.collapsed_slice_dims.contains(p.operand_batching_dims[i]) &&
               !p.start_index_map.contains(p.operand_batching_dims[i]),
           "batching axes that are neither collapsed nor indexed");
    }
    for (const Dims* dims : {&p.collapsed_slice_dims, &p.operand_batching_dims})
      for (std::int64_t axis : *dims)
        that(p.slice_sizes[static_cast<std::size_t>(axis)] == 1,
             "slices of size 1 along axes that the result does not have");
  }

  const char* where_;
  const Array &x_, &indices_;
  Loc loc_;
};

detail::OutOfBounds bounds(const Check& check, IndexMode mode) {
  check.that(mode != IndexMode::Wrap, "Clip, or Fill, as mode");
  return mode == IndexMode::Fill ? detail::OutOfBounds::Fill : detail::OutOfBounds::Clip;
}

/// As i64; those of u64 that are none are far beyond the end.
Array wide(const Array& indices) {
  if (indices.dtype() != u64) return lax::convert(indices, i64);
  const Array most = lax::full(indices.shape(), u64, 0x1p62);
  return lax::convert(lax::select(lax::lt(indices, most), indices, most), i64);
}

}  // namespace

Array gather(const Array& x, const Array& indices, const GatherDimensions& dimensions,
             const Shape& slice_sizes, IndexMode mode, Loc loc) {
  const LocScope place(loc);
  const Check check("gather", x, indices, loc);
  const GatherParams p{dimensions.offset_dims,
                       dimensions.collapsed_slice_dims,
                       dimensions.start_index_map,
                       dimensions.operand_batching_dims,
                       dimensions.start_indices_batching_dims,
                       slice_sizes,
                       bounds(check, mode)};
  check.numbers(p);
  return lax::gather(x, wide(indices), p);
}

Array scatter(const Array& x, const Array& indices, const Array& updates, const ScatterDimensions& dimensions,
              const ScatterOptions& options, Loc loc) {
  const LocScope place(loc);
  const Check check("scatter", x, indices, loc);
  const Shape& shape = x.shape();
  Shape sizes = Dims::filled(shape.size(), 1);
  std::size_t window = 0;
  check.axes(dimensions.update_window_dims, updates.ndim(), true, "update_window_dims");
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto number = static_cast<std::int64_t>(axis);
    if (dimensions.inserted_window_dims.contains(number) || dimensions.operand_batching_dims.contains(number))
      continue;
    check.that(window < dimensions.update_window_dims.size(),
               "an axis in update_window_dims for each of the windows that is neither inserted nor batched");
    sizes[axis] = updates.dim(static_cast<int>(dimensions.update_window_dims[window++]));
  }
  const GatherParams p{dimensions.update_window_dims,
                       dimensions.inserted_window_dims,
                       dimensions.scatter_dims_to_operand_dims,
                       dimensions.operand_batching_dims,
                       dimensions.scatter_indices_batching_dims,
                       sizes,
                       bounds(check, options.mode)};
  check.numbers(p);
  const Array index = wide(indices);
  const Array values = updates.dtype() == x.dtype() ? updates : lax::convert(updates, x.dtype());
  const std::vector<Aval> operands{x.aval(), index.aval()};
  std::vector<Aval> expected;
  detail::gather_op.shape(make_params(p), operands, expected);
  check.that(expected[0].shape() == values.shape(),
             "updates of shape " + to_string(expected[0].shape()) + ", not " + to_string(values.shape()));
  constexpr detail::ScatterKind kinds[] = {detail::ScatterKind::Set, detail::ScatterKind::Add,
                                           detail::ScatterKind::Mul, detail::ScatterKind::Min,
                                           detail::ScatterKind::Max};
  return lax::scatter(x, index, values,
                      {p, kinds[static_cast<std::size_t>(options.update)], options.unique_indices});
}

}  // namespace apsis
