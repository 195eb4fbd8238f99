#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

namespace {

const Array x23 = array({{1., 2., 3.}, {4., 5., 6.}});

}  // namespace

APSIS_PROVOKES(needs_matrix,
               "[qr] needs matrices, the last two axes of an array, got f64[3]; add an axis with expand_dims",
               linalg::qr(array({1., 2., 3.})))

APSIS_PROVOKES(needs_square, "[cholesky] needs square matrices, got f64[2,3]", linalg::cholesky(x23))

APSIS_PROVOKES(matrix_sides,
               "[triangular_solve] f64[2,3] does not fit f64[3,3]: the right sides need as many rows as the "
               "matrices",
               linalg::triangular_solve(eye(3), x23))

APSIS_PROVOKES(
    bands,
    "[solve_banded] 1 diagonals below and 2 above the main one do not fit f64[2,3]: give [.., above + 1 "
    "+ below, n], neither negative",
    linalg::solve_banded({.lower = 1, .upper = 2}, x23, ones({3})))

APSIS_PROVOKES(matrix_side, "[qr] has no more than 2147483647 rows or columns, got f64[2147483648,0]",
               linalg::qr(zeros({std::int64_t(1) << 31, 0})))

APSIS_PROVOKES(
    full_matrices_derivative,
    "[svd] with full_matrices has no derivative for matrices that are not square, got f64[2,3]; leave "
    "the further columns out (full_matrices = false)",
    grad([](const Array& x) { return sum(linalg::svd(x).s); })(x23))

APSIS_PROVOKES(array_square, "[solve] needs square matrices, got f64[2,3]", linalg::solve(x23, x23))

APSIS_PROVOKES(array_norm, "[matrix_norm] has no order 3; give fro, nuc, 1, -1, 2, -2, or an infinity",
               linalg::matrix_norm(x23, {.ord = 3}))

APSIS_PROVOKES(
    factors_not_unique,
    "[schur] has no derivative, for its factors are not unique; eig, sqrtm and solve_sylvester have",
    grad([](const Array& x) { return sum(linalg::schur(x).t); })(eye(3)))

APSIS_PROVOKES(gather_dimensions,
               "[gather] of f64[2,3] at indices i32[1] needs slices no longer than the "
               "array, not 4 along axis 1",
               gather(x23, array({0}),
                      {.offset_dims = {0}, .collapsed_slice_dims = {0}, .start_index_map = {0}}, {1, 4}))
