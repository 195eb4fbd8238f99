// Solves with factors, and what they give.

#include "apsis/array/creation.hpp"
#include "apsis/array/linalg.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "array/linalg_support.hpp"
#include "array/messages.hpp"

namespace apsis::linalg {
using namespace detail::arrays;
namespace {

void check_factors(const char* where, const Array& lu) {
  check_rank(where, lu.ndim() >= 2, "two axes or more as factors", lu);
  if (lu.dim(-1) != lu.dim(-2)) fail(messages::array_square, {where, to_string(lu.aval())});
}

}  // namespace

Array solve(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  square_matrices("solve", a);
  const Equation e = equation("solve", a, b);
  return with_columns(e.right, [&](const Array& columns) {
    return solve_columns(e.matrices, with_leading(columns, leading_shape("solve", e.matrices, columns)));
  });
}

Array inv(const Array& a, Loc loc) {
  const LocScope place(loc);
  const Array x = square_matrices("inv", a);
  return solve(x, identity_like(x), loc);
}

Array tensorsolve(const Array& a, const Array& b, const Dims& axes, Loc loc) {
  const LocScope place(loc);
  Array moved = a;
  if (!axes.empty()) {
    Dims order, last;
    for (std::int64_t axis : axes) last.push_back(checked_axis("tensorsolve", axis, a));
    for (std::int64_t i = 0; i < a.ndim(); ++i)
      if (!last.contains(i)) order.push_back(i);
    for (std::int64_t axis : last) order.push_back(axis);
    moved = transpose(a, Axes(order));
  }
  Shape shape = moved.shape(), of_x;
  const std::size_t rows = b.shape().size();
  bool fits = rows <= shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    fits = fits && (i >= rows || shape[i] == b.shape()[i]);
    if (i >= rows) of_x.push_back(shape[i]);
  }
  if (!fits || of_x.product() != b.size())
    fail(messages::array_sizes,
         {"tensorsolve", to_string(a.aval()), to_string(b.aval()),
          "the first axes of the one are those of the other, and the others have as many "
          "elements"});
  return reshape(solve(reshape(moved, {b.size(), b.size()}), reshape(b, {b.size()}), loc), of_x);
}

Array tensorinv(const Array& a, int ind, Loc loc) {
  const LocScope place(loc);
  check_rank("tensorinv", ind > 0 && ind <= a.ndim(), "more axes than `ind`, which is positive", a);
  Shape rows, columns;
  for (std::size_t i = 0; i < a.shape().size(); ++i)
    (i < static_cast<std::size_t>(ind) ? rows : columns).push_back(a.shape()[i]);
  if (rows.product() != columns.product())
    fail(messages::array_sizes, {"tensorinv", to_string(rows), to_string(columns),
                                 "the axes before `ind` need as many elements as those after it"});
  for (std::int64_t size : rows) columns.push_back(size);
  return reshape(inv(reshape(a, {rows.product(), rows.product()}), loc), columns);
}

LUResult lu(const Array& a, Loc loc) {
  const LocScope place(loc);
  const Array x = matrices("lu", a);
  const LUFactors f = lu_factor(x);
  const std::int64_t m = x.dim(-2), n = x.dim(-1), k = std::min(m, n);
  // Row permutation[i] of A is row i of L·U.
  const Array p = astype(expand_dims(f.permutation, -2) == expand_dims(arange(m), 1), real_dtype(x.dtype()));
  const int rows = x.ndim() - 2, columns = x.ndim() - 1;
  return {p, tril(part(f.lu, columns, 0, k), -1) + eye(m, k, 0, x.dtype()), triu(part(f.lu, rows, 0, k))};
}

Array lu_solve(const LUFactors& factors, const Array& b, bool transpose, Loc loc) {
  const LocScope place(loc);
  check_factors("lu_solve", factors.lu);
  const Equation e = equation("lu_solve", factors.lu, b);
  const LUFactors f{e.matrices, factors.pivots, factors.permutation};
  return with_columns(e.right, [&](const Array& columns) {
    const Array right = with_leading(columns, leading_shape("lu_solve", f.lu, columns));
    return lu_solve_columns(f, right, transpose);
  });
}

ChoFactor cho_factor(const Array& a, const ChoFactorOptions& options, Loc loc) {
  return {cholesky(a, {.upper = !options.lower, .symmetrize_input = false}, loc), options.lower};
}

Array cho_solve(const ChoFactor& factor, const Array& b, Loc loc) {
  const LocScope place(loc);
  check_factors("cho_solve", factor.c);
  const Equation e = equation("cho_solve", factor.c, b);
  return with_columns(e.right, [&](const Array& columns) {
    const auto solved = [&](const Array& right, bool turned) {
      return triangular_solve(e.matrices, right,
                              {.lower = factor.lower, .transpose_a = turned, .conjugate_a = turned});
    };
    return solved(solved(columns, !factor.lower), factor.lower);
  });
}

Array solve_triangular(const Array& a, const Array& b, const SolveTriangularOptions& options, Loc loc) {
  const LocScope place(loc);
  square_matrices("solve_triangular", a);
  const Equation e = equation("solve_triangular", a, b);
  return with_columns(e.right, [&](const Array& columns) {
    return triangular_solve(e.matrices, columns,
                            {.lower = options.lower,
                             .transpose_a = options.transpose,
                             .unit_diagonal = options.unit_diagonal,
                             .conjugate_a = options.conjugate});
  });
}

}  // namespace apsis::linalg
