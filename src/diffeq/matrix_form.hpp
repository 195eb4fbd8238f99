#pragma once

// How matrices over the state are written: ∂f/∂y, the mass matrix, and those of Newton's equations, M - c
// ∂f/∂y.

#include <vector>

#include "apsis/array/linalg.hpp"
#include "apsis/control/implicit.hpp"
#include "apsis/solve/linear_solve.hpp"
#include "diffeq/layout.hpp"

namespace apsis::detail {

using Pattern = SparsePattern;

/// How a matrix is written.
struct MatrixStructure {
  Pattern pattern = {};   ///< whose entries may differ from 0; empty: of a full matrix
  bool straight = false;  ///< whether its factors are made in straight line,
  bool banded = false;    ///< or as those of bands
  bool is_full() const { return pattern.is_empty(); }
  /// Whether the factors of a sparse matrix are values of the program.
  bool makes_factors() const { return straight || banded; }
};

/// That of ∂f/∂y at any time and state.
Pattern pattern_of(const VectorSlope& slope, const Array& t, const Array& y);

/// A matrix of k × k blocks like those of a form, of which those off the diagonal have the mass matrix's
/// entries alone.
struct MatrixBlocks {
  MatrixStructure structure;
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

  const MatrixStructure& structure() const { return structure_; }
  /// ∂f/∂y.
  Array jacobian(const VectorSlope& slope, const Array& t, const Array& y) const;
  /// The mass matrix, or 1.
  const Array& mass() const { return mass_; }
  /// Its product with a vector.
  Array times_mass(const Array& vector) const;
  MatrixBlocks blocks(std::int64_t k) const;

 private:
  /// Goes over to the pattern, if it has few entries.
  void take_pattern(const Slopes& slopes, const VectorSlope& slope, const Layout& layout, const Array& t,
                    const Array& y);

  Pattern own_;                // of ∂f/∂y
  MatrixStructure structure_;  // with the diagonal and the mass matrix
  Array own_at_, mass_;  // of each entry of the structure its number in own_, or that of a zero behind all
  bool unit_;            // no mass matrix
};

/// A matrix, ready to be solved with.
struct MatrixFactors {
  MatrixStructure structure;
  linalg::LUFactors full = {};
  Array entries = {};  ///< of a sparse one, whose factors the linear solver keeps, or:
  Array made = {};     ///< those in straight line, or of bands

  static MatrixFactors of(const MatrixStructure& structure, const Array& values);
  Array solve(const Array& right) const;
  /// As arrays of a solver's state, so many, and back; what stands there before there are factors, of a
  /// matrix with values like these.
  void append_to(std::vector<Array>& state) const;
  static std::size_t arrays(const MatrixStructure& structure);
  static MatrixFactors from(const MatrixStructure& structure, std::span<const Array> state);
  static MatrixFactors unmade(const MatrixStructure& structure, const Array& values);

 private:
  Array solve_by_made(const Array& right, bool transposed) const;
};

/// Solves with a linear map, which has this structure (or its transpose): for the tangents of custom_root.
Array solve_by_columns(const LinearMap<Array>& map, const Array& right, const MatrixStructure& structure);

}  // namespace apsis::detail
