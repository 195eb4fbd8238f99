#include "optim/matrices.hpp"

#include <algorithm>

namespace apsis::optim::detail {

AsMatrices::AsMatrices(const Shape& shape, const MatrixAxes& axes, const char* rule, const std::string& path,
                       Loc loc) {
  const std::int64_t rank = shape.rank();
  std::vector<bool> used(static_cast<std::size_t>(rank));
  std::vector<std::int64_t> named;
  auto add = [&](const std::vector<std::int64_t>& list, std::int64_t& size) {
    for (std::int64_t axis : list) {
      const std::int64_t at = axis < 0 ? axis + rank : axis;
      if (at < 0 || at >= rank || used[static_cast<std::size_t>(at)])
        fail(messages::optimizer_axes, {rule, std::to_string(axis), path, to_string(shape)}, loc);
      used[static_cast<std::size_t>(at)] = true;
      named.push_back(at);
      size *= shape[at];
    }
  };
  add(axes.rows, rows);
  add(axes.columns, columns);
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (!used[static_cast<std::size_t>(axis)]) {
      order_.push_back(axis);
      count_ *= shape[axis];
    }
  many_ = !order_.empty();
  for (std::int64_t axis : named) order_.push_back(axis);
  inverse_.resize(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    inverse_[static_cast<std::size_t>(order_[i])] = static_cast<std::int64_t>(i);
    sizes_.push_back(shape[order_[i]]);
  }
}

Array AsMatrices::operator()(const Array& leaf) const {
  const Array ordered = transpose(leaf, order_);
  return many_ ? reshape(ordered, {count_, rows, columns}) : reshape(ordered, {rows, columns});
}
Array AsMatrices::back(const Array& matrices) const {
  return transpose(reshape(matrices, Shape(sizes_)), inverse_);
}

std::optional<AsMatrices> as_matrices(const Array& leaf, MatrixAxesOf axes, const char* rule,
                                      const std::string& path, Loc loc) {
  std::optional<MatrixAxes> found;
  if (axes)
    found = axes(leaf, path);
  else if (leaf.ndim() == 2)
    found = MatrixAxes{};
  if (!found) return {};
  return AsMatrices(leaf.shape(), *found, rule, path, loc);
}

Array transposed(const Array& x) { return swapaxes(x, -1, -2); }

}  // namespace apsis::optim::detail
