#pragma once

// Linear operators: matrices, and what is one without being written out.
//
//   LinearOperator a = tridiagonal_operator(lower, diagonal, upper) + 0.1 * identity_operator(n);
//   Array y = a.mv(x), same = matmul(a.as_matrix(), x);

#include <initializer_list>
#include <vector>

#include "apsis/ops/decomposition.hpp"
#include "apsis/ops/refused_operands.hpp"
#include "apsis/transform/linear_transpose.hpp"
#include "apsis/transform/sparsity.hpp"

namespace apsis {

class LinearOperator;
namespace detail {
template <>
inline constexpr bool has_multiples<LinearOperator> = true;
}
/// An operand of `+`, `-` and `*` of operators, and where it stands.
struct LinearOperand {
  const LinearOperator& op;
  Loc loc;
  LinearOperand(const LinearOperator& a, Loc loc_ = Loc::here()) : op(a), loc(loc_) {}
};

/// What is known of an operator. Nothing is checked: what is not so gives wrong solutions.
struct LinearTags {
  bool symmetric = false;
  bool positive_definite = false;  ///< and symmetric
  bool lower_triangular = false, upper_triangular = false;
  bool unit_diagonal = false;  ///< the diagonal is 1, and not read by triangular solves
};

/// A linear map from vectors [columns] to vectors [rows], in one dtype. A tree: its arrays are leaves, so
/// that it may be mapped and differentiated by.
class LinearOperator {
  enum class Kind : std::uint8_t {
    None,
    Matrix,
    Banded,
    Sparse,
    Identity,
    Program,
    Sum,
    Product,
    Scaled,
    Kronecker,
    Block,
    Transpose
  };
  APSIS_FIELDS(LinearOperator, kind_, rows_, columns_, dtype_, widths_, tags_, at_, arrays_, parts_, program_)

 public:
  LinearOperator() = default;
  /// Whether it was made by none of the functions below.
  bool is_empty() const { return kind_ == Kind::None; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  Dtype dtype() const { return dtype_; }
  const LinearTags& tags() const { return tags_; }
  /// The product with a vector. Throws where x is not [columns], or of a dtype that dtype() does not hold.
  Array mv(const Array& x, Loc loc = Loc::here()) const;
  /// The operator written out, [rows, columns].
  Array as_matrix(Loc loc = Loc::here()) const;
  LinearOperator transpose() const;
  /// The same with these tags.
  LinearOperator tagged(const LinearTags& tags) const;

  /// Whether it is written as the diagonals of a square matrix: bands() has them, bandwidths() their number.
  bool is_banded() const { return kind_ == Kind::Banded || kind_ == Kind::Identity; }
  bool is_diagonal() const { return is_banded() && widths_.lower == 0 && widths_.upper == 0; }
  /// Whether it is written as the entries of a sparse matrix: entries() has them, pattern() says where.
  bool is_sparse() const { return kind_ == Kind::Sparse; }
  const SparsePattern& pattern() const { return at_; }
  /// The entries of a sparse operator, by rows, [pattern().count()]. Throws for others.
  Array entries(Loc loc = Loc::here()) const;
  /// Whether as_matrix is made of arrays that are there, without applying a function to a basis.
  bool is_written_out() const;
  /// The diagonals of a banded operator, as linalg::solve_banded takes them. Throws for others.
  Array bands(Loc loc = Loc::here()) const;
  const linalg::Bandwidths& bandwidths() const { return widths_; }
  /// The main diagonal of a banded operator, [n]. Throws for others.
  Array diagonal(Loc loc = Loc::here()) const;

  friend LinearOperator matrix_operator(const Array& a, const LinearTags& tags, Loc loc);
  friend LinearOperator diagonal_operator(const Array& d, Loc loc);
  friend LinearOperator banded_operator(const linalg::Bandwidths& widths, const Array& ab,
                                        const LinearTags& tags, Loc loc);
  friend LinearOperator sparse_operator(const SparsePattern& pattern, const Array& entries,
                                        const LinearTags& tags, Loc loc);
  friend LinearOperator identity_operator(std::int64_t n, Dtype dtype, Loc loc);
  friend LinearOperator kronecker_operator(const LinearOperator& a, const LinearOperator& b, Loc loc);
  friend LinearOperator block_diagonal_operator(std::initializer_list<LinearOperator> blocks, Loc loc);
  friend LinearOperator operator+(const LinearOperand& a, const LinearOperand& b);
  friend LinearOperator operator*(const LinearOperand& a, const LinearOperand& b);
  friend LinearOperator operator*(const Operand& factor, const LinearOperand& a);
  /// Of a program on one vector; what function_operator and jacobian_operator make.
  static LinearOperator of_program(const detail::LinearProgram& program, std::int64_t rows,
                                   std::int64_t columns, Dtype dtype, const LinearTags& tags);

 private:
  LinearOperator(Kind kind, std::int64_t rows, std::int64_t columns, Dtype dtype, const LinearTags& tags = {})
      : kind_(kind), rows_(rows), columns_(columns), dtype_(dtype), tags_(tags) {}
  Array apply(const Array& x, bool transposed) const;
  Array apply_sparse(const Array& x, bool transposed) const;

  Kind kind_ = Kind::None;
  std::int64_t rows_ = 0, columns_ = 0;
  Dtype dtype_ = Dtype::F64;
  linalg::Bandwidths widths_;
  LinearTags tags_;
  SparsePattern at_;  // where the entries are
  std::vector<Array> arrays_;
  std::vector<LinearOperator> parts_;
  detail::LinearProgram program_;
};

/// A matrix [rows, columns]; integers become floating.
LinearOperator matrix_operator(const Array& a, const LinearTags& tags = {}, Loc loc = Loc::here());
/// The matrix with this diagonal [n].
LinearOperator diagonal_operator(const Array& d, Loc loc = Loc::here());
/// The matrix with these diagonals, [n] each; lower[0] and upper[n - 1] do not count.
LinearOperator tridiagonal_operator(const Array& lower, const Array& diagonal, const Array& upper,
                                    const LinearTags& tags = {}, Loc loc = Loc::here());
/// The square matrix with these diagonals [upper + 1 + lower, n], as linalg::solve_banded takes them: entry
/// (i, j) is ab[upper + i - j, j]; what lies outside of the matrix does not count.
LinearOperator banded_operator(const linalg::Bandwidths& widths, const Array& ab, const LinearTags& tags = {},
                               Loc loc = Loc::here());
/// The matrix with these entries, [pattern.count()], by rows, and 0 elsewhere. Its products are
/// differentiable in the entries; sums with sparse and banded operators, multiples and transposes are sparse.
LinearOperator sparse_operator(const SparsePattern& pattern, const Array& entries,
                               const LinearTags& tags = {}, Loc loc = Loc::here());
/// The identity on vectors [n].
LinearOperator identity_operator(std::int64_t n, Dtype dtype = f64, Loc loc = Loc::here());
/// The Kronecker product: on vectors that are matrices [b.columns, a.columns] column by column, x → b·x·aᵀ.
LinearOperator kronecker_operator(const LinearOperator& a, const LinearOperator& b, Loc loc = Loc::here());
/// The blocks along the diagonal.
LinearOperator block_diagonal_operator(std::initializer_list<LinearOperator> blocks, Loc loc = Loc::here());
/// Sums, differences, products (first b, then a) and multiples. Sums and multiples of diagonal and
/// tridiagonal operators are such operators. Throw where sizes or dtypes do not fit.
LinearOperator operator+(const LinearOperand& a, const LinearOperand& b);
LinearOperator operator*(const LinearOperand& a, const LinearOperand& b);
LinearOperator operator*(const Operand& factor, const LinearOperand& a);
LinearOperator operator-(const LinearOperand& a);
LinearOperator operator-(const LinearOperand& a, const LinearOperand& b);

namespace detail {
LinearOperator operator_of_function(const Callee& f, const Array& like, bool jacobian, const LinearTags& tags,
                                    Loc loc);
LinearOperator banded_jacobian(const Callee& f, const Array& x, const linalg::Bandwidths& widths,
                               const LinearTags& tags, Loc loc);
LinearOperator sparse_jacobian_of(const Callee& f, const Array& x, const SparsePattern& pattern,
                                  const LinearTags& tags, Loc loc);
}  // namespace detail

/// A linear function of a vector like `like`, of which only shape and dtype count.
template <class F>
LinearOperator function_operator(const F& f, const Array& like, const LinearTags& tags = {},
                                 Loc loc = Loc::here()) {
  auto function = [&f](const Array& x) { return Array(f(x)); };
  detail::FlatFunction<decltype(function), Array> flat(function, like);
  return detail::operator_of_function(detail::callee_of(flat), like, false, tags, loc);
}
/// The derivative of `f` at the vector x, without its matrix: products are forward derivatives, those of the
/// transpose reverse ones.
template <class F>
LinearOperator jacobian_operator(const F& f, const Array& x, const LinearTags& tags = {},
                                 Loc loc = Loc::here()) {
  auto function = [&f](const Array& y) { return Array(f(y)); };
  detail::FlatFunction<decltype(function), Array> flat(function, x);
  return detail::operator_of_function(detail::callee_of(flat), x, true, tags, loc);
}
/// The derivative of `f` at the vector x, written out where it is known to be banded: as many forward
/// derivatives as it has diagonals (Curtis, Powell and Reid 1974). Entries outside of the bands give wrong
/// ones inside.
template <class F>
LinearOperator jacobian_operator(const F& f, const Array& x, const linalg::Bandwidths& widths,
                                 const LinearTags& tags = {}, Loc loc = Loc::here()) {
  auto function = [&f](const Array& y) { return Array(f(y)); };
  detail::FlatFunction<decltype(function), Array> flat(function, x);
  return detail::banded_jacobian(detail::callee_of(flat), x, widths, tags, loc);
}

/// Options of `sparse_jacobian`.
struct SparseJacobianOptions {
  /// Where the derivative may differ from 0, if it is known: then it is not looked for. Entries elsewhere
  /// give wrong ones in it.
  SparsePattern pattern = {};
  LinearTags tags = {};
};
/// The derivative of `f` at x, written out as a sparse operator. Its pattern is found in the program
/// (`jacobian_sparsity`), its entries one by one, or by as many derivatives as its columns have colours
/// (Curtis, Powell, Reid 1974): forward ones, or reverse ones, of rows, where these are under half as many.
template <class F>
LinearOperator sparse_jacobian(const F& f, const Array& x, const SparseJacobianOptions& options = {},
                               Loc loc = Loc::here()) {
  auto function = [&f](const Array& y) { return Array(f(y)); };
  detail::FlatFunction<decltype(function), Array> flat(function, x);
  return detail::sparse_jacobian_of(detail::callee_of(flat), x, options.pattern, options.tags, loc);
}

}  // namespace apsis
