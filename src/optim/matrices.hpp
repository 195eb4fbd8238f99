// Leaves as matrices, for the optimisers that look at more than elements.
#pragma once

#include "apsis/optim/matrix_axes.hpp"
#include "optim/support.hpp"

namespace apsis::optim::detail {

/// How a leaf is one matrix [m, n], or many of them [k, m, n].
class AsMatrices {
 public:
  /// Throws if an axis is named twice, or is none of the leaf.
  AsMatrices(const Shape& shape, const MatrixAxes& axes, const char* rule, const std::string& path, Loc loc);
  Array operator()(const Array& leaf) const;
  Array back(const Array& matrices) const;
  std::int64_t rows = 1, columns = 1;

 private:
  Dims order_, inverse_, sizes_;
  std::int64_t count_ = 1;
  bool many_ = false;
};

/// How a leaf is matrices; nothing where it is none. Without a function, arrays with two axes are matrices.
std::optional<AsMatrices> as_matrices(const Array& leaf, MatrixAxesOf axes, const char* rule,
                                      const std::string& path, Loc loc);

/// x with its last two axes exchanged.
Array transposed(const Array& x);

}  // namespace apsis::optim::detail
