#pragma once

// Sparsity patterns of Jacobians, found in the program: which elements of the result may depend on which of
// the argument.
//
//   SparsePattern pattern = jacobian_sparsity(f, x);       // for every x of this shape
//   pattern.count();  pattern.column_colors();

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "apsis/transform/function.hpp"
#include "apsis/tree/fields.hpp"
#include "apsis/tree/static_object.hpp"

namespace apsis {

/// The places of the entries of a sparse matrix, by rows (CSR): those of row i are row_starts[i] to
/// row_starts[i + 1] - 1, in columns that ascend. A static value: programs are made for one pattern. Copies
/// share it.
class SparsePattern {
  APSIS_FIELDS(SparsePattern, shared_)

 public:
  SparsePattern() = default;
  /// Throws where row_starts are not rows + 1 numbers that ascend from 0 to the number of entries, or columns
  /// in a row do not ascend from 0 on to less than `columns`.
  SparsePattern(std::int64_t rows, std::int64_t columns, std::vector<std::int64_t> row_starts,
                std::vector<std::int64_t> column_indices, Loc loc = Loc::here());
  /// The entries of a matrix, known now, that are not 0 (or not false). Throws for what is none.
  static SparsePattern of(const Array& matrix, Loc loc = Loc::here());

  /// Whether it was made by none of these.
  bool is_empty() const { return shared_.is_empty(); }
  std::int64_t rows() const;
  std::int64_t columns() const;
  std::int64_t count() const;  ///< of entries
  std::span<const std::int64_t> row_starts() const;
  std::span<const std::int64_t> column_indices() const;  ///< of each entry
  std::vector<std::int64_t> row_indices() const;         ///< of each entry
  /// With rows and columns exchanged.
  SparsePattern transpose() const;
  /// A number for each column, from 0 on, so that columns of one number have no row in common: all columns of
  /// one number are found by one derivative (Curtis, Powell and Reid 1974). The most entries first, each its
  /// least free number.
  std::vector<std::int64_t> column_colors() const;
  friend bool operator==(const SparsePattern& a, const SparsePattern& b) { return a.shared_ == b.shared_; }

  /// For what solvers find out of a pattern once: made by `make` when it is first asked for, and kept with
  /// it.
  std::shared_ptr<const void> kept(std::shared_ptr<const void> (*make)(const SparsePattern&)) const;

 private:
  detail::StaticObject shared_;
};
/// `sparse pattern, 4 × 4 with 10 entries`.
std::string to_string(const SparsePattern& pattern);

namespace detail {
SparsePattern jacobian_sparsity_call(const Callee& f, const Array& like, Loc loc);
}

/// The pattern of the derivative of `f`, an array of any shape of one like `like`, of which only shape and
/// dtype count: row and column numbers are those of elements in row-major order. It holds for all arguments,
/// with what f captures as it is: where indices, conditions or trips of loops depend on the argument, all
/// that may be chosen counts. There may be entries that are 0 all the same. Throws where `like` is not
/// floating, or the result is not one floating array.
template <class F>
SparsePattern jacobian_sparsity(const F& f, const Array& like, Loc loc = Loc::here()) {
  auto function = [&f](const Array& x) { return Array(f(x)); };
  detail::FlatFunction<decltype(function), Array> flat(function, like);
  return detail::jacobian_sparsity_call(detail::callee_of(flat), like, loc);
}

}  // namespace apsis
