#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis::optim {

/// Which axes of a leaf are the rows and which the columns of a matrix; along the others there are many
/// matrices. Negative numbers count from the end.
struct MatrixAxes {
  std::vector<std::int64_t> rows = {0};     ///< the axes that the layer sums over (Optax: reduction_axis)
  std::vector<std::int64_t> columns = {1};  ///< the axes of its results (Optax: output_axis)
};
/// A function without captures of leaf and path (as in `Mask`), which returns nothing for leaves that are no
/// matrices: `[](const Array& leaf, const std::string& path) -> std::optional<MatrixAxes> { … }`.
using MatrixAxesOf = std::optional<MatrixAxes> (*)(const Array& leaf, const std::string& path);

}  // namespace apsis::optim
