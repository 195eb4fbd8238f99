#pragma once

// How matrices over the state are written: ∂f/∂y, the mass matrix, and those of Newton's equations, M - c
// ∂f/∂y.

#include <vector>

#include "apsis/array/linalg.hpp"
#include "apsis/control/implicit.hpp"
#include "apsis/solve/linear_solve.hpp"
#include "diffeq/layout.hpp"

namespace apsis::detail {

/// Whose entries may differ from 0. Empty: of a full matrix.
using Pattern = SparsePattern;

/// That of ∂f/∂y at any time and state.
Pattern pattern_of(const VectorSlope& slope, const Array& t, const Array& y);

/// A matrix of k × k blocks like those of a form, of which those off the diagonal have the mass matrix's
/// entries alone.
struct Blocks {
  Pattern pattern;
  Array from;  ///< of each entry its number among those of all blocks, row by row
  /// The values, of the values of each block.
  Array values(const std::vector<Array>& of_blocks) const;
};

/// Full, or, of a large state, the entries of a pattern that the program of f tells, if there are few. Values
/// are arrays [n, n] or [entries], on which sums and multiples of matrices are those of arrays.
class MatrixForm {
 public:
  /// For ∂f/∂y anywhere, and sums with the mass matrix or with 1.
  MatrixForm(const Slopes& slopes, const VectorSlope& slope, const Layout& layout, const Array& t,
             const Array& y);

  const Pattern& pattern() const { return pattern_; }
  /// ∂f/∂y.
  Array jacobian(const VectorSlope& slope, const Array& t, const Array& y) const;
  /// The mass matrix, or 1.
  const Array& mass() const { return mass_; }
  /// Its product with a vector.
  Array times_mass(const Array& vector) const;
  Blocks blocks(std::int64_t k) const;

 private:
  /// Goes over to the pattern, if it has few entries.
  void take_pattern(const Slopes& slopes, const VectorSlope& slope, const Layout& layout, const Array& t,
                    const Array& y);

  Pattern own_, pattern_;  // of ∂f/∂y, and with the diagonal and the mass matrix
  Array own_at_, mass_;    // of each entry of pattern_ its number in own_, or that of a zero behind all
  bool unit_;              // no mass matrix
};

/// A matrix, ready to be solved with.
struct MatrixFactors {
  Pattern pattern;
  linalg::LUFactors full = {};
  Array entries = {};  ///< of a sparse one, whose factors the linear solver keeps

  static MatrixFactors of(const Pattern& pattern, const Array& values);
  Array solve(const Array& right) const;
  /// As arrays of a solver's state, and back; what stands there before there are factors, of a matrix with
  /// values like these.
  void append_to(std::vector<Array>& state) const;
  static MatrixFactors from(const Pattern& pattern, std::span<const Array> state);
  static MatrixFactors unmade(const Pattern& pattern, const Array& values);
};

/// Solves with a linear map, which has this pattern (or its transpose): for the tangents of custom_root.
Array solve_by_columns(const LinearMap<Array>& map, const Array& right, const Pattern& pattern);

}  // namespace apsis::detail
