#include "apsis/ops/decomposition.hpp"

#include "apsis/base/loc.hpp"
#include "ops/arguments.hpp"
#include "ops/complex.hpp"
#include "ops/elementwise.hpp"
#include "ops/matrix_rules.hpp"
#include "ops/messages.hpp"
#include "ops/operands.hpp"

namespace apsis::linalg {
using namespace detail;
namespace {

/// Of a floating or complex dtype that is not weak.
Array strong(const char* where, const Array& a, Loc loc) {
  const Array x = is_complex(a.dtype(loc)) ? a : floating(where, a, loc);
  return x.weak() ? lax::convert(x, x.dtype()) : x;
}

Array matrices(const char* where, const Array& a, Loc loc) {
  if (a.ndim() < 2) fail(messages::needs_matrix, {where, to_string(a.aval())}, loc);
  return strong(where, a, loc);
}

Array square_matrices(const char* where, const Array& a, Loc loc) {
  Array x = matrices(where, a, loc);
  if (x.dim(-2) != x.dim(-1)) fail(messages::needs_square, {where, to_string(a.aval())}, loc);
  return x;
}

Array complex_of(const Array& a) {
  return is_complex(a.dtype()) ? a : lax::convert(a, complex_dtype(a.dtype()));
}

Array symmetrized(const Array& a) {
  return lax::mul(lax::add(a, lax::adjoint(a)), lax::full_like(a.aval(), 0.5));
}

/// Hermitian matrices by their lower triangle.
Array lower_of(const Array& a, bool upper, bool symmetrize) {
  return symmetrize ? symmetrized(a) : upper ? lax::adjoint(a) : a;
}

Shape leading_axes(const Array& a, int last) {
  Shape out = a.shape();
  out.resize(out.size() - static_cast<std::size_t>(last));
  return out;
}

/// With other leading axes, which the array's broadcast to.
Array with_leading(const Array& a, Shape axes, int last) {
  for (int i = last; i > 0; --i) axes.push_back(a.dim(-i));
  return broadcast_operand(a, axes);
}

/// A square matrix and right sides of one dtype, whose leading axes broadcast.
struct SolvedFor {
  Array matrix, given_right;
  Shape common;
  /// Whether the matrices are the same for all entries of the first axes. Then they are not repeated.
  bool repeats = true;

  SolvedFor(const char* where, const Array& a, const Array& b, bool left_side, Loc loc) {
    const Array pair[] = {square_matrices(where, a, loc), matrices(where, b, loc)};
    const std::vector<Array> x = promoted(pair);
    matrix = x[0];
    given_right = x[1];
    if (matrix.dim(-1) != given_right.dim(left_side ? -2 : -1))
      fail(messages::matrix_sides,
           {where, to_string(b.aval()), to_string(a.aval()),
            left_side ? "the right sides need as many rows as the matrices"
                      : "the right sides need as many columns as the matrices"},
           loc);
    const Shape shapes[] = {leading_axes(matrix, 2), leading_axes(given_right, 2)};
    common = broadcast_shapes(where, shapes, loc);
    for (std::size_t i = 0; i < shapes[0].size(); ++i)
      repeats = repeats && shapes[0][i] == common[common.size() - shapes[0].size() + i];
  }
  Array repeated_matrix() const { return repeats ? matrix : with_leading(matrix, common, 2); }
  Array right() const { return with_leading(given_right, common, 2); }
};

}  // namespace

Array cholesky(const Array& a, const CholeskyOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array x = lower_of(square_matrices("cholesky", a, loc), options.upper, options.symmetrize_input);
  const Array l = bind1(cholesky_op, {}, {x}, loc);
  return options.upper ? lax::adjoint(l) : l;
}

LUFactors lu_factor(const Array& a, Loc loc) {
  const Array x = matrices("lu_factor", a, loc);
  const std::vector<Array> out = bind_all(lu_op, {}, {&x, 1}, loc);
  return {out[0], out[1], out[2]};
}

Array solve_columns(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  const SolvedFor x("solve_columns", a, b, true, loc);
  // One factorisation for all right sides, but for half floats, whose factors would be rounded.
  if (leading_axes(x.matrix, 2) != x.common && x.repeats && item_size(x.matrix.dtype()) > 2)
    return lu_solve_columns(lu_factor(x.matrix, loc), x.right(), false, loc);
  return bind1(solve_op, {}, {with_leading(x.matrix, x.common, 2), x.right()}, loc);
}

Array lu_solve_columns(const LUFactors& factors, const Array& b, bool transpose, Loc loc) {
  const LocScope place(loc);
  const SolvedFor x("lu_solve_columns", factors.lu, b, true, loc);
  const Array pivots = x.repeats ? factors.pivots : with_leading(factors.pivots, x.common, 1);
  return lax::lu_solve(x.repeated_matrix(), pivots, x.right(), transpose);
}

Array triangular_solve(const Array& a, const Array& b, const TriangularSolveOptions& options, Loc loc) {
  const LocScope place(loc);
  const SolvedFor x("triangular_solve", a, b, options.left_side, loc);
  return lax::triangular_solve(
      x.repeated_matrix(), x.right(),
      {options.left_side, options.lower, options.transpose_a, options.unit_diagonal, options.conjugate_a});
}

QRResult qr(const Array& a, const QROptions& options, Loc loc) {
  const Array x = matrices("qr", a, loc);
  const std::vector<Array> out = bind_all(qr_op, make_params(QrParams{options.full_matrices}), {&x, 1}, loc);
  return {out[0], out[1]};
}

EighResult eigh(const Array& a, const EighOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array x = lower_of(square_matrices("eigh", a, loc), options.upper, options.symmetrize_input);
  const std::vector<Array> out = bind_all(eigh_op, make_params(EighParams{}), {&x, 1}, loc);
  return {out[0], out[1]};
}

Array eigvalsh(const Array& a, const EighOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array x = lower_of(square_matrices("eigvalsh", a, loc), options.upper, options.symmetrize_input);
  return bind_all(eigh_op, make_params(EighParams{.compute_vectors = false}), {&x, 1}, loc)[0];
}

EigResult eig(const Array& a, Loc loc) {
  const Array x = square_matrices("eig", a, loc);
  const std::vector<Array> out = bind_all(eig_op, make_params(EigParams{}), {&x, 1}, loc);
  return {out[0], out[1]};
}

Array eigvals(const Array& a, Loc loc) {
  const Array x = square_matrices("eigvals", a, loc);
  return bind_all(eig_op, make_params(EigParams{.compute_vectors = false}), {&x, 1}, loc)[0];
}

SchurResult schur(const Array& a, const SchurOptions& options, Loc loc) {
  const Array given = square_matrices("schur", a, loc), x = options.complex ? complex_of(given) : given;
  const std::vector<Array> out = bind_all(schur_op, {}, {&x, 1}, loc);
  return {out[0], out[1]};
}

HessenbergResult hessenberg(const Array& a, Loc loc) {
  const Array x = square_matrices("hessenberg", a, loc);
  const std::vector<Array> out = bind_all(hessenberg_op, {}, {&x, 1}, loc);
  return {out[0], out[1]};
}

Array solve_sylvester(const Array& a, const Array& b, const Array& c, Loc loc) {
  const LocScope place(loc);
  constexpr const char* where = "solve_sylvester";
  const Array given[] = {square_matrices(where, a, loc), square_matrices(where, b, loc),
                         matrices(where, c, loc)};
  const std::vector<Array> x = promoted(given);
  if (x[0].dim(-1) != x[2].dim(-2))
    fail(messages::matrix_sides,
         {where, to_string(c.aval()), to_string(a.aval()), "the right side needs as many rows"}, loc);
  if (x[1].dim(-1) != x[2].dim(-1))
    fail(messages::matrix_sides,
         {where, to_string(c.aval()), to_string(b.aval()), "the right side needs as many columns"}, loc);
  const Shape shapes[] = {leading_axes(x[0], 2), leading_axes(x[1], 2), leading_axes(x[2], 2)};
  const Shape common = broadcast_shapes(where, shapes, loc);
  const Array operands[] = {with_leading(x[0], common, 2), with_leading(x[1], common, 2),
                            with_leading(x[2], common, 2)};
  return bind_all(sylvester_op, {}, operands, loc)[0];
}

Array sqrtm(const Array& a, Loc loc) {
  const LocScope place(loc);
  return bind1(sqrtm_op, {}, {complex_of(square_matrices("sqrtm", a, loc))}, loc);
}

SVDResult svd(const Array& a, const SVDOptions& options, Loc loc) {
  const Array x = matrices("svd", a, loc);
  const std::vector<Array> out =
      bind_all(svd_op, make_params(SvdParams{.full_matrices = options.full_matrices}), {&x, 1}, loc);
  return {out[1], out[0], out[2]};
}

Array svdvals(const Array& a, Loc loc) {
  const Array x = matrices("svdvals", a, loc);
  return bind_all(svd_op, make_params(SvdParams{.compute_uv = false}), {&x, 1}, loc)[0];
}

Array tridiagonal_solve(const Array& lower, const Array& diagonal, const Array& upper, const Array& b,
                        Loc loc) {
  const LocScope place(loc);
  constexpr const char* where = "tridiagonal_solve";
  const Array given[] = {upper, diagonal, lower, matrices(where, b, loc)};
  std::vector<Array> x;
  for (const Array& a : given) {
    if (a.ndim() < 1) fail(messages::needs_rank, {where, "1 or more", to_string(a.shape())}, loc);
    x.push_back(strong(where, a, loc));
    if (const Array& line = x.back(); x.size() < 4 && line.dim(-1) != given[3].dim(-2))
      fail(messages::matrix_sides,
           {where, to_string(b.aval()), to_string(line.aval()),
            "the right sides need a row for each entry of a diagonal"},
           loc);
  }
  x = promoted(x);
  const Shape shapes[] = {leading_axes(x[0], 1), leading_axes(x[1], 1), leading_axes(x[2], 1),
                          leading_axes(x[3], 2)};
  const Shape common = broadcast_shapes(where, shapes, loc);
  const int rows = static_cast<int>(common.size());
  std::vector<Array> bands;
  for (int i = 0; i < 3; ++i) {
    const Array line = with_leading(x[static_cast<std::size_t>(i)], common, 1);
    bands.push_back(lax::expand_axis(lax::moved(line, rows, i - 1), rows));
  }
  const Array operands[] = {lax::concatenate(bands, rows), with_leading(x[3], common, 2)};
  return bind_all(banded_solve_op, make_params(BandedSolveParams{1, 1}), operands, loc)[0];
}

Array solve_banded(const Bandwidths& widths, const Array& ab, const Array& b, Loc loc) {
  const LocScope place(loc);
  constexpr const char* where = "solve_banded";
  if (b.ndim() < 1) fail(messages::needs_rank, {where, "1 or more", to_string(b.shape())}, loc);
  const Array given[] = {matrices(where, ab, loc), strong(where, b, loc)};
  const std::vector<Array> x = promoted(given);
  const bool vector = b.ndim() == 1;
  const Array right = vector ? lax::expand_axis(x[1], 1) : x[1];
  const bool fits = widths.lower >= 0 && widths.upper >= 0 && x[0].dim(-2) == widths.upper + 1 + widths.lower;
  if (!fits)
    fail(messages::bands, {std::to_string(widths.lower), std::to_string(widths.upper), to_string(ab.aval())},
         loc);
  if (x[0].dim(-1) != right.dim(-2))
    fail(messages::matrix_sides,
         {where, to_string(b.aval()), to_string(ab.aval()), "the right sides need a row for each column"},
         loc);
  const Shape shapes[] = {leading_axes(x[0], 2), leading_axes(right, 2)};
  const Shape common = broadcast_shapes(where, shapes, loc);
  const Array operands[] = {with_leading(x[0], common, 2), with_leading(right, common, 2)};
  const Array out =
      bind_all(banded_solve_op, make_params(BandedSolveParams{widths.lower, widths.upper}), operands, loc)[0];
  return vector ? lax::squeeze_axis(out, static_cast<int>(common.size()) + 1) : out;
}

}  // namespace apsis::linalg
