#pragma once

// LU factors of small sparse matrices in straight line: operations on scalars for the entries that there are,
// and for no zero.

#include <vector>

#include "apsis/transform/sparsity.hpp"

namespace apsis::detail {

/// Elimination without exchanges of rows in an order that makes few entries: of what is left, the pivot whose
/// row and column have the fewest (H. M. Markowitz, The elimination form of the inverse and its application
/// to linear programming, Management Science 3, 1957), those on the diagonal alone.
class StraightLU {
 public:
  /// Of a square pattern that has its diagonal.
  explicit StraightLU(const SparsePattern& pattern);

  /// Multiplications of a factorisation and a solve.
  std::int64_t work() const { return work_; }

  /// The factors of a matrix with these entries, [count] → [entries of the factors + 1]. The last is 1 if
  /// they are as good as those with exchanges of rows, else 0: whether a solve leaves a residual of rounding
  /// size in each row, by the sizes of the terms of that row, so that units of rows and columns make no
  /// difference.
  Array factor(const Array& entries) const;
  static Array is_sound(const Array& factors);
  /// What stands for factors that are not made yet.
  Array unmade(Dtype dtype) const;
  /// x with A·x = right, or Aᵀ·x = right, [n]. A function of the program, which solves with other factors
  /// share.
  Array solve(const Array& factors, const Array& right, bool transposed = false) const;

 private:
  using Integers = std::vector<std::int64_t>;
  using Scalars = std::vector<Array>;
  /// A place of the factors, in the order of pivots.
  struct Place {
    std::size_t column, at;
  };
  void choose_order(std::vector<std::vector<bool>> there);
  void number_places(const std::vector<std::vector<bool>>& there);
  Scalars solved(const Scalars& factors, Scalars x, bool transposed) const;

  SparsePattern pattern_;
  Integers order_;                                 // order_[k]: which row, and column, is the k-th pivot's
  std::vector<std::vector<Place>> lower_, upper_;  // of each row of the factors, its columns ascending
  std::vector<std::size_t> diagonal_;              // of each row; holds the pivot's reciprocal
  std::vector<std::size_t> place_of_;              // of each entry of the pattern
  std::size_t places_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace apsis::detail
