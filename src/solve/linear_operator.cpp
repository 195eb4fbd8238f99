// Linear operators: how each kind is applied, transposed and written out.

#include "apsis/solve/linear_operator.hpp"

#include "apsis/transform/vmap.hpp"
#include "solve/sparse.hpp"
#include "solve/support.hpp"

namespace apsis {

using namespace detail;

std::string detail::size_of(const LinearOperator& a) {
  return std::to_string(a.rows()) + " × " + std::to_string(a.columns());
}
std::string detail::size_and_dtype(const LinearOperator& a) {
  return size_of(a) + " (" + std::string(name_of(a.dtype())) + ")";
}
void detail::check_operand(const char* where, const char* name, const Array& x, Dtype dtype, Loc loc) {
  if (promote({dtype, false}, {x.dtype(), x.weak()}).dtype != dtype)
    fail(messages::operator_dtype, {where, name, to_string(x.aval()), std::string(name_of(dtype))}, loc);
}

namespace {

void require_fit(bool fits, const char* op, const LinearOperator& a, const LinearOperator& b) {
  if (!fits) fail(messages::operator_sizes, {op, size_and_dtype(a), size_and_dtype(b)});
}
Array floating_operand(const Array& a, const char* name, int axes, Loc loc) {
  if (a.is_empty() || is_complex(a.dtype()) || static_cast<int>(a.shape().size()) != axes)
    fail(messages::operator_array, {name, a.is_empty() ? "empty" : to_string(a.aval()), std::to_string(axes)},
         loc);
  return is_floating(a.dtype()) ? a : astype(a, f64);
}
/// The diagonals of an operator among those of wider bands.
Array widened(const LinearOperator& a, const linalg::Bandwidths& widths) {
  auto zero_rows = [&](std::int64_t count) { return zeros({count, a.rows()}, a.dtype()); };
  return concatenate({zero_rows(widths.upper - a.bandwidths().upper), a.bands(),
                      zero_rows(widths.lower - a.bandwidths().lower)});
}
LinearTags transposed_tags(LinearTags tags) {
  std::swap(tags.lower_triangular, tags.upper_triangular);
  return tags;
}

}  // namespace

LinearOperator matrix_operator(const Array& a, const LinearTags& tags, Loc loc) {
  const Array matrix = floating_operand(a, "matrix_operator", 2, loc);
  LinearOperator op(LinearOperator::Kind::Matrix, matrix.shape()[0], matrix.shape()[1], matrix.dtype(), tags);
  op.arrays_ = {matrix};
  return op;
}
LinearOperator diagonal_operator(const Array& d, Loc loc) {
  const Array diagonal = floating_operand(d, "diagonal_operator", 1, loc);
  return banded_operator({}, expand_dims(diagonal, 0),
                         {.symmetric = true, .lower_triangular = true, .upper_triangular = true}, loc);
}
LinearOperator tridiagonal_operator(const Array& lower, const Array& diagonal, const Array& upper,
                                    const LinearTags& tags, Loc loc) {
  const LocScope place(loc);
  const Array below = floating_operand(lower, "tridiagonal_operator", 1, loc),
              middle = floating_operand(diagonal, "tridiagonal_operator", 1, loc),
              above = floating_operand(upper, "tridiagonal_operator", 1, loc);
  if (below.size() != middle.size() || above.size() != middle.size())
    fail(messages::operator_diagonals,
         {std::to_string(lower.size()), std::to_string(diagonal.size()), std::to_string(upper.size())}, loc);
  return banded_operator({1, 1}, stack({roll(above, 1, 0), middle, roll(below, -1, 0)}), tags, loc);
}
LinearOperator banded_operator(const linalg::Bandwidths& widths, const Array& ab, const LinearTags& tags,
                               Loc loc) {
  const LocScope place(loc);
  const Array bands = floating_operand(ab, "banded_operator", 2, loc);
  if (widths.lower < 0 || widths.upper < 0 || bands.dim(0) != widths.upper + 1 + widths.lower)
    fail(messages::operator_bands,
         {std::to_string(widths.lower), std::to_string(widths.upper), to_string(ab.aval())}, loc);
  LinearOperator op(LinearOperator::Kind::Banded, bands.dim(1), bands.dim(1), bands.dtype(), tags);
  op.widths_ = widths;
  op.arrays_ = {bands};
  return op;
}
LinearOperator identity_operator(std::int64_t n, Dtype dtype, Loc loc) {
  if (n < 0 || !is_floating(dtype))
    fail(messages::operator_identity, {std::to_string(n), std::string(name_of(dtype))}, loc);
  return {LinearOperator::Kind::Identity,
          n,
          n,
          dtype,
          {.symmetric = true,
           .positive_definite = true,
           .lower_triangular = true,
           .upper_triangular = true,
           .unit_diagonal = true}};
}
LinearOperator kronecker_operator(const LinearOperator& a, const LinearOperator& b, Loc loc) {
  const LocScope place(loc);
  LinearOperator op(LinearOperator::Kind::Kronecker, a.rows_ * b.rows_, a.columns_ * b.columns_, a.dtype_,
                    {.symmetric = a.tags_.symmetric && b.tags_.symmetric,
                     .positive_definite = a.tags_.positive_definite && b.tags_.positive_definite});
  require_fit(a.dtype_ == b.dtype_, "kronecker_operator", a, b);
  op.parts_ = {a, b};
  return op;
}
LinearOperator block_diagonal_operator(std::initializer_list<LinearOperator> blocks, Loc loc) {
  const LocScope place(loc);
  if (blocks.size() == 0) fail(messages::operator_no_blocks, {});
  LinearOperator op(LinearOperator::Kind::Block, 0, 0, blocks.begin()->dtype_,
                    {.symmetric = true, .positive_definite = true});
  for (const LinearOperator& b : blocks) {
    require_fit(b.dtype_ == op.dtype_, "block_diagonal_operator", *blocks.begin(), b);
    op.rows_ += b.rows_;
    op.columns_ += b.columns_;
    op.tags_.symmetric = op.tags_.symmetric && b.tags_.symmetric;
    op.tags_.positive_definite = op.tags_.positive_definite && b.tags_.positive_definite;
    op.parts_.push_back(b);
  }
  return op;
}
LinearOperator operator+(const LinearOperand& left, const LinearOperand& right) {
  const LocScope place(left.loc);
  const LinearOperator &a = left.op, &b = right.op;
  require_fit(a.rows_ == b.rows_ && a.columns_ == b.columns_ && a.dtype_ == b.dtype_, "+", a, b);
  const LinearTags tags{.symmetric = a.tags_.symmetric && b.tags_.symmetric,
                        .positive_definite = a.tags_.positive_definite && b.tags_.positive_definite,
                        .lower_triangular = a.tags_.lower_triangular && b.tags_.lower_triangular,
                        .upper_triangular = a.tags_.upper_triangular && b.tags_.upper_triangular};
  if (a.is_banded() && b.is_banded()) {
    const linalg::Bandwidths widths{std::max(a.widths_.lower, b.widths_.lower),
                                    std::max(a.widths_.upper, b.widths_.upper)};
    return banded_operator(widths, widened(a, widths) + widened(b, widths), tags, left.loc);
  }
  const bool both_written = (a.is_banded() || a.is_sparse()) && (b.is_banded() || b.is_sparse());
  if (both_written) return sum_of_sparse(a, b, tags, left.loc);
  LinearOperator op(LinearOperator::Kind::Sum, a.rows_, a.columns_, a.dtype_, tags);
  op.parts_ = {a, b};
  return op;
}
LinearOperator operator*(const LinearOperand& left, const LinearOperand& right) {
  const LocScope place(left.loc);
  const LinearOperator &a = left.op, &b = right.op;
  require_fit(a.columns_ == b.rows_ && a.dtype_ == b.dtype_, "*", a, b);
  LinearOperator op(LinearOperator::Kind::Product, a.rows_, b.columns_, a.dtype_,
                    {.lower_triangular = a.tags_.lower_triangular && b.tags_.lower_triangular,
                     .upper_triangular = a.tags_.upper_triangular && b.tags_.upper_triangular});
  op.parts_ = {a, b};
  return op;
}
LinearOperator operator*(const Operand& scalar, const LinearOperand& right) {
  const LocScope place(right.loc);
  const Array& factor = scalar.array;
  const LinearOperator& a = right.op;
  if (factor.is_empty() || !factor.shape().empty())
    fail(messages::operator_factor, {factor.is_empty() ? "empty" : to_string(factor.aval())});
  const LinearTags tags{.symmetric = a.tags_.symmetric,
                        .lower_triangular = a.tags_.lower_triangular,
                        .upper_triangular = a.tags_.upper_triangular};
  const Array by = astype(factor, a.dtype_);
  if (a.is_banded()) return banded_operator(a.widths_, by * a.bands(), tags, right.loc);
  if (a.is_sparse()) return sparse_operator(a.at_, by * a.arrays_[0], tags, right.loc);
  LinearOperator op(LinearOperator::Kind::Scaled, a.rows_, a.columns_, a.dtype_, tags);
  op.arrays_ = {by};
  op.parts_ = {a};
  return op;
}
LinearOperator operator-(const LinearOperand& a) { return -1. * a; }
LinearOperator operator-(const LinearOperand& a, const LinearOperand& b) {
  return a + LinearOperand(-b, b.loc);
}
LinearOperator LinearOperator::of_program(const LinearProgram& program, std::int64_t rows,
                                          std::int64_t columns, Dtype dtype, const LinearTags& tags) {
  LinearOperator op(Kind::Program, rows, columns, dtype, tags);
  op.program_ = program;
  return op;
}
LinearOperator LinearOperator::transpose() const {
  if (tags_.symmetric || tags_.positive_definite || is_diagonal()) return *this;
  if (kind_ == Kind::Transpose) return parts_[0].tagged(transposed_tags(tags_));
  if (kind_ == Kind::Banded) {
    // Entry (i, j) of the transpose is entry (j, i); what is rolled around lies outside.
    std::vector<Array> rows;
    for (std::int64_t k = widths_.lower; k >= -widths_.upper; --k)
      rows.push_back(roll(arrays_[0][widths_.upper + k], k, 0));
    return banded_operator({widths_.upper, widths_.lower}, stack(rows), transposed_tags(tags_), Loc::here());
  }
  if (kind_ == Kind::Sparse) return transpose_of_sparse(*this, transposed_tags(tags_));
  LinearOperator op(Kind::Transpose, columns_, rows_, dtype_, transposed_tags(tags_));
  op.parts_ = {*this};
  return op;
}
LinearOperator LinearOperator::tagged(const LinearTags& tags) const {
  LinearOperator op = *this;
  op.tags_ = tags;
  return op;
}

bool LinearOperator::is_written_out() const {
  if (kind_ == Kind::Program) return false;
  for (const LinearOperator& p : parts_)
    if (!p.is_written_out()) return false;
  return true;
}
Array LinearOperator::bands(Loc loc) const {
  const LocScope place(loc);
  if (kind_ == Kind::Identity) return ones({1, rows_}, dtype_);
  if (kind_ != Kind::Banded) fail(messages::operator_not_banded, {}, loc);
  return arrays_[0];
}
Array LinearOperator::diagonal(Loc loc) const {
  const LocScope place(loc);
  return bands(loc)[widths_.upper];
}

Array LinearOperator::mv(const Array& x, Loc loc) const {
  const LocScope place(loc);
  if (x.is_empty() || x.shape() != Shape{columns_})
    fail(messages::operator_vector,
         {x.is_empty() ? "empty" : to_string(x.aval()), size_of(*this), std::to_string(columns_)}, loc);
  check_operand("LinearOperator", "x", x, dtype_, loc);
  return apply(astype(x, dtype_), false);
}

Array LinearOperator::apply(const Array& x, bool transposed) const {
  switch (kind_) {
    case Kind::None:
      break;
    case Kind::Matrix:
      return transposed ? matmul(x, arrays_[0]) : matmul(arrays_[0], x);
    case Kind::Identity:
      return x;
    case Kind::Banded: {
      // What lies outside of the matrix is not read: it may be anything.
      Array sum = zeros_like(x);
      for (std::int64_t k = std::max(-widths_.lower, 1 - rows_); k <= std::min(widths_.upper, rows_ - 1);
           ++k) {
        // Entries (i, i + k), of the columns from `first` to `end`.
        const std::int64_t first = std::max<std::int64_t>(k, 0), end = std::min(rows_, rows_ + k);
        const Array entries = arrays_[0][widths_.upper - k][range(first, end)];
        const std::int64_t from = transposed ? first - k : first, to = transposed ? first : first - k;
        const Array product = entries * x[range(from, from + end - first)];
        sum = sum + concatenate({zeros({to}, dtype_), product, zeros({rows_ - to - (end - first)}, dtype_)});
      }
      return sum;
    }
    case Kind::Sparse:
      return apply_sparse(x, transposed);
    case Kind::Program: {
      const Array in[] = {x};
      return (transposed ? program_.pull(in) : program_.push(in))[0];
    }
    case Kind::Sum:
      return parts_[0].apply(x, transposed) + parts_[1].apply(x, transposed);
    case Kind::Product:
      return transposed ? parts_[1].apply(parts_[0].apply(x, true), true)
                        : parts_[0].apply(parts_[1].apply(x, false), false);
    case Kind::Scaled:
      return arrays_[0] * parts_[0].apply(x, transposed);
    case Kind::Transpose:
      return parts_[0].apply(x, !transposed);
    case Kind::Kronecker: {
      // Rows are the columns of x: b·x·aᵀ, transposed, is a·xᵀ·bᵀ.
      const auto &a = parts_[0], &b = parts_[1];
      const std::int64_t height = transposed ? a.rows_ : a.columns_,
                         width = transposed ? b.rows_ : b.columns_;
      auto rows_by = [&](const LinearOperator& op, const Array& rows) {
        return vmap([&](const Array& row) { return op.apply(row, transposed); })(rows);
      };
      const Array columns = rows_by(b, reshape(x, {height, width}));
      return ravel(apsis::transpose(rows_by(a, apsis::transpose(columns))));
    }
    case Kind::Block: {
      std::vector<Array> out;
      std::int64_t at = 0;
      for (const LinearOperator& p : parts_) {
        const std::int64_t n = transposed ? p.rows_ : p.columns_;
        out.push_back(p.apply(x[range(at, at + n)], transposed));
        at += n;
      }
      return concatenate(out);
    }
  }
  fail(messages::operator_none, {});
}

Array LinearOperator::as_matrix(Loc loc) const {
  const LocScope place(loc);
  if (kind_ == Kind::Matrix) return arrays_[0];
  if (is_empty()) fail(messages::operator_none, {});
  if (kind_ == Kind::Sparse) return matrix_of_sparse(*this);
  const Array basis = eye(columns_, -1, 0, dtype_);
  return apsis::transpose(vmap([&](const Array& x) { return apply(x, false); })(basis));
}

namespace detail {

LinearOperator operator_of_function(const Callee& f, const Array& like, bool jacobian, const LinearTags& tags,
                                    Loc loc) {
  const LocScope place(loc);
  const char* name = jacobian ? "jacobian_operator" : "function_operator";
  if (like.is_empty() || like.shape().size() != 1 || !is_floating(like.dtype()))
    fail(messages::operator_array, {name, like.is_empty() ? "empty" : to_string(like.aval()), "1"}, loc);
  std::int64_t rows = 0;
  auto checked = [&](std::span<const Array> in) {
    std::vector<Array> out = f(in);
    if (out.size() != 1 || out[0].shape().size() != 1 || out[0].dtype() != like.dtype())
      fail(messages::operator_function,
           {name, out.empty() ? "nothing" : to_string(out[0].aval()), std::string(name_of(like.dtype()))},
           loc);
    rows = out[0].size();
    return out;
  };
  const LinearProgram program =
      jacobian ? linearize_call(callee_of(checked), std::span(&like, 1), {true}, loc).program
               : linear_program(callee_of(checked), std::span(&like, 1), name, loc);
  return LinearOperator::of_program(program, rows, like.size(), like.dtype(), tags);
}

LinearOperator banded_jacobian(const Callee& f, const Array& x, const linalg::Bandwidths& widths,
                               const LinearTags& tags, Loc loc) {
  const LocScope place(loc);
  const LinearOperator jacobian = operator_of_function(f, x, true, tags, loc);
  const std::int64_t n = x.size(), count = widths.upper + 1 + widths.lower;
  if (jacobian.rows() != n) fail(messages::operator_not_square, {size_of(jacobian)}, loc);
  if (widths.lower < 0 || widths.upper < 0)
    fail(messages::operator_bands,
         {std::to_string(widths.lower), std::to_string(widths.upper), to_string(x.aval())}, loc);
  // Columns that are `count` apart meet in no row: one derivative serves all of them.
  const Array columns = arange(n), groups = expand_dims(arange(count), 1);
  const Array seeds = astype(columns % count == groups, x.dtype());
  const Array sums = vmap([&](const Array& seed) { return jacobian.mv(seed); })(seeds);
  std::vector<Array> bands;
  for (std::int64_t k = widths.upper; k >= -widths.lower; --k)
    bands.push_back(sums(columns % count, clip(columns - k, 0, n - 1)));
  return banded_operator(widths, stack(bands), tags, loc);
}

}  // namespace detail
}  // namespace apsis
