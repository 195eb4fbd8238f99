#pragma once

// Factors of sparse matrices as banded ones, kept by the program: for methods that solve with one matrix
// again and again; not part of apsis.hpp.

#include <memory>

#include "apsis/ops/decomposition.hpp"
#include "apsis/transform/sparsity.hpp"

namespace apsis::detail {

struct BandOrder;

/// Elimination on a pattern in the order that brings its entries near the diagonal. Values of programs are
/// entries and factors; order and places are the same for all of one object.
class BandedLU {
 public:
  /// Of a square pattern. Those of the last few patterns are kept by each thread.
  static std::shared_ptr<const BandedLU> of(const SparsePattern& pattern);
  /// Whether it takes less than factors of the sparse matrix.
  bool is_narrow() const { return narrow_; }

  /// The factors of a matrix with these entries, [count] → a vector. They have no derivative.
  Array factor(const Array& entries) const;
  /// What stands for factors that are not made yet.
  Array unmade(Dtype dtype) const;
  /// x with A·x = right, or Aᵀ·x = right, [n]; NaN where A is singular.
  Array solve(const Array& factors, const Array& right, bool transposed = false) const;

 private:
  BandedLU(const SparsePattern& pattern, const BandOrder& order);
  std::int64_t n_;
  linalg::Bandwidths widths_;
  bool narrow_;
  Array order_, places_;
};

}  // namespace apsis::detail
