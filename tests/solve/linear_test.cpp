// Linear operators and solves, against their written-out forms and linalg.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include <apsis/apsis.hpp>

namespace {

using namespace apsis;

void expect_close(const Array& found, const Array& expected, double tolerance) {
  ASSERT_EQ(found.shape(), expected.shape());
  if (found.size() == 0) return;
  EXPECT_LE(max(abs(found - expected)).item<double>(), tolerance);
}

/// An operator and the matrix it must be.
struct Pair {
  const char* name;
  LinearOperator op;
  Array matrix;
};
const Array m = array({{2., 1., 0.5}, {-1., 3., 0.25}, {0.5, 0., 4.}}), n = array({{1., 2.}, {0., 3.}});
const Array d = array({1., 2., 3.}), lower = array({9., -1., 0.5}), upper = array({0.25, 2., 9.});

std::vector<Pair> operators() {
  const Array tri = array({{1., 0.25, 0.}, {-1., 2., 2.}, {0., 0.5, 3.}});
  const LinearOperator a = matrix_operator(m), t = tridiagonal_operator(lower, d, upper);
  // Its corners lie outside.
  const double outside = NAN;
  const LinearOperator banded = banded_operator(
      {2, 1}, array({{outside, 3., 6.}, {2., 5., 8.}, {4., 7., outside}, {1., outside, outside}}));
  auto shift = [](const Array& x) { return concatenate({x[range(1, {})], 2. * x[range(0, 1)]}); };
  auto cubes = [](const Array& x) { return x * x * x + sum(x); };
  const LinearOperator jacobian = jacobian_operator(cubes, d);
  const Array shifted = array({{0., 1., 0.}, {0., 0., 1.}, {2., 0., 0.}});
  const Array slope = diag(3. * d * d) + 1.;
  const Array kron = array({{2., 4., 1., 2., 0.5, 1.},
                            {0., 6., 0., 3., 0., 1.5},
                            {-1., -2., 3., 6., 0.25, 0.5},
                            {0., -3., 0., 9., 0., 0.75},
                            {0.5, 1., 0., 0., 4., 8.},
                            {0., 1.5, 0., 0., 0., 12.}});
  const Array z32 = zeros({3, 2}), z23 = zeros({2, 3});
  return {{"matrix", a, m},
          {"diagonal", diagonal_operator(d), diag(d)},
          {"tridiagonal", t, tri},
          {"banded", banded, array({{2., 3., 0.}, {4., 5., 6.}, {1., 7., 8.}})},
          {"wide bands", banded_operator({3, 4}, square(reshape(arange(24.), {8, 3}))),
           array({{144., 100., 64.}, {225., 169., 121.}, {324., 256., 196.}})},
          {"banded sum", banded - Array(0.5) * t, array({{1.5, 2.875, 0.}, {4.5, 4., 5.}, {1., 6.75, 6.5}})},
          {"identity", identity_operator(3), eye(3)},
          {"function", function_operator(shift, d), shifted},
          {"jacobian", jacobian, slope},
          {"sum", a + t - jacobian, m + tri - slope},
          {"product", a * t, matmul(m, tri)},
          {"scaled", Array(2.5) * a, 2.5 * m},
          {"transpose", (a * t).transpose(), matmul(transpose(tri), transpose(m))},
          {"kronecker", kronecker_operator(a, matrix_operator(n)), kron},
          {"blocks", block_diagonal_operator({a, matrix_operator(n)}),
           concatenate({concatenate({m, z32}, 1), concatenate({z23, n}, 1)})}};
}

TEST(LinearOperator, IsItsMatrix) {
  for (const Pair& p : operators()) {
    SCOPED_TRACE(p.name);
    expect_close(p.op.as_matrix(), p.matrix, 1e-14);
    expect_close(p.op.transpose().as_matrix(), transpose(p.matrix), 1e-14);
    const Array x = arange(1., static_cast<double>(p.op.columns()) + 1.);
    expect_close(p.op.mv(x), matmul(p.matrix, x), 1e-13);
    expect_close(jit([&](const LinearOperator& op, const Array& v) { return op.mv(v); })(p.op, x),
                 matmul(p.matrix, x), 1e-13);
  }
}

TEST(LinearSolve, AutoSolvesAllOfThem) {
  for (const Pair& p : operators()) {
    SCOPED_TRACE(p.name);
    const Array b = arange(1., static_cast<double>(p.op.rows()) + 1.);
    expect_close(linear_solve(p.op, b).value, linalg::solve(p.matrix, b), 1e-12);
  }
}

TEST(LinearSolve, EveryMethodAndItsDerivatives) {
  const Array spd = matmul(m, transpose(m)) + eye(3), b = array({1., -2., 0.5}), way = array({0.3, 1., -1.});
  const Array half = array({{2., 0., 0.}, {1., 3., 0.}, {-1., 0.5, 4.}});
  auto check = [&](const char* name, const Array& a, const LinearTags& tags, const auto& method) {
    SCOPED_TRACE(name);
    // Iterations stop at 1e-12 of b; condition numbers are below 30.
    auto solve = [&](const Array& s, const Array& right) {
      return linear_solve(matrix_operator(s * a, tags), right, method).value;
    };
    auto exact = [&](const Array& s, const Array& right) { return linalg::solve(s * a, right); };
    expect_close(jit(solve)(1.5, b), exact(1.5, b), 1e-10);
    auto total = [&](const auto& f) {
      return [&f, &way](const Array& s, const Array& right) { return dot(way, f(s, right)); };
    };
    auto found = jit(grad<0, 1>(total(solve)))(1.5, b), expected = grad<0, 1>(total(exact))(array(1.5), b);
    expect_close(std::get<0>(found), std::get<0>(expected), 1e-10);
    expect_close(std::get<1>(found), std::get<1>(expected), 1e-10);
    expect_close(jvp([&](const Array& s) { return solve(s, b); }, array(1.5), array(1.)).second,
                 jvp([&](const Array& s) { return exact(s, b); }, array(1.5), array(1.)).second, 1e-10);
    auto scalar = [&](const Array& s) { return total(solve)(s, b); };
    auto scalar_exact = [&](const Array& s) { return total(exact)(s, b); };
    expect_close(grad(grad(scalar))(array(1.5)), grad(grad(scalar_exact))(array(1.5)), 1e-9);
    const Array scales = array({0.5, 1., 3.});
    expect_close(jit(vmap([&](const Array& s) { return solve(s, b); }))(scales),
                 vmap([&](const Array& s) { return exact(s, b); })(scales), 1e-10);
  };
  const LinearTags positive{.positive_definite = true};
  check("LU", m, {}, linear::LU{});
  check("QR", m, {}, linear::QR{});
  check("SVD", m, {}, linear::SVD{});
  check("Triangular", half, {.lower_triangular = true}, linear::Triangular{});
  check("Cholesky", spd, positive, linear::Cholesky{});
  check("CG", spd, positive, linear::CG{.rtol = 1e-12});
  check("NormalCG", m, {}, linear::NormalCG{.rtol = 1e-13});
  check("LSMR", m, {}, linear::LSMR{.rtol = 1e-13});
  check("BiCGStab", m, {}, linear::BiCGStab{.rtol = 1e-12});
  check("GMRES", m, {}, linear::GMRES{.rtol = 1e-12});
  check("GMRES restarted", m, {}, linear::GMRES{.rtol = 1e-12, .restart = 2});
}

TEST(LinearSolve, LSMRFindsLeastSquares) {
  const Array tall = sin(square(reshape(arange(40.), {8, 5}))), b = cos(arange(8.));
  auto solve = [&](const Array& s) {
    return linear_solve(matrix_operator(tall + s), b, linear::LSMR{.rtol = 1e-13}).value;
  };
  auto exact = [&](const Array& s) { return linalg::lstsq(tall + s, b).x; };
  expect_close(jit(solve)(0.3), exact(0.3), 1e-10);
  expect_close(jacfwd(solve)(array(0.3)), jacfwd(exact)(array(0.3)), 1e-9);
  expect_close(jacrev(solve)(array(0.3)), jacrev(exact)(array(0.3)), 1e-9);
  // The shortest of all, where there are many.
  const Array wide = transpose(tall);
  expect_close(linear_solve(matrix_operator(wide), arange(5.), linear::LSMR{.rtol = 1e-13}).value,
               linalg::lstsq(wide, arange(5.)).x, 1e-10);
}

TEST(LinearSolve, SeveralRightHandSides) {
  const Array spd = matmul(m, transpose(m)) + eye(3),
              right = array({{1., 0., 2.}, {-2., 1., 0.}, {0.5, 3., 1.}});
  const LinearOperator a = matrix_operator(spd, {.positive_definite = true});
  auto check = [&](const auto& method) {
    auto solve = [&](const Array& r) { return linear_solve(a, r, method); };
    const LinearSolution sol = jit(solve)(right(range(), range(0, 2)));
    expect_close(sol.value, linalg::solve(spd, right(range(), range(0, 2))), 1e-10);
    EXPECT_EQ(sol.result.shape(), Shape{2});
    EXPECT_EQ(sol.residual.shape(), Shape{2});
  };
  check(linear::Auto{});
  check(linear::LU{});
  check(linear::CG{.rtol = 1e-13});
  check(linear::LSMR{.rtol = 1e-14});
  const Array slope = grad([&](const Array& r) { return sum(square(linear_solve(a, r).value)); })(right);
  expect_close(slope, 2. * linalg::solve(spd, linalg::solve(spd, right)), 1e-12);
}

TEST(LinearOperator, Determinants) {
  const Array spd = matmul(m, transpose(m)) + eye(3),
              half = array({{-2., 0., 0.}, {1., 3., 0.}, {-1., 0.5, 4.}});
  auto check = [&](const LinearOperator& a) {
    const auto found = slogdet(a), expected = linalg::slogdet(a.as_matrix());
    expect_close(found.sign, expected.sign, 0);
    expect_close(found.logabsdet, expected.logabsdet, 1e-13);
  };
  for (const Pair& p : operators()) check(p.op);
  check(matrix_operator(spd, {.positive_definite = true}));
  check(matrix_operator(half, {.lower_triangular = true}));
  check(diagonal_operator(array({-1., 2., -3., 0.5})));
  const auto of = [&](const Array& s) {
    return slogdet(matrix_operator(spd * s, {.positive_definite = true})).logabsdet;
  };
  EXPECT_NEAR(jit(grad(of))(array(2.)).item<double>(), 1.5, 1e-13);
}

TEST(LinearSolve, NumbersWhoseSquaresOverflowOrVanish) {
  const Array spd = matmul(m, transpose(m)) + eye(3), b = array({1., -2., 0.5});
  auto check = [&](const char* name, const auto& method) {
    SCOPED_TRACE(name);
    auto solve = [&](const Array& right) {
      return linear_solve(matrix_operator(spd, {.positive_definite = true}), right, method,
                          {.throw_ = false});
    };
    for (double size : {1e200, 1e-200}) {
      auto sol = jit(solve)(size * b);
      EXPECT_EQ(sol.result.template item<std::int64_t>(), 0);
      expect_close(sol.value / size, linalg::solve(spd, b), 1e-9);
    }
    // Nothing solves an equation with ∞.
    EXPECT_EQ(jit(solve)(array({1., double(INFINITY), 0.})).result.template item<std::int64_t>(), 1);
    EXPECT_EQ(jit(solve)(array({1., double(NAN), 0.})).result.template item<std::int64_t>(), 1);
    EXPECT_EQ(jit(solve)(zeros({3})).result.template item<std::int64_t>(), 0);
  };
  check("CG", linear::CG{.rtol = 1e-12});
  check("NormalCG", linear::NormalCG{.rtol = 1e-12});
  check("BiCGStab", linear::BiCGStab{.rtol = 1e-12});
  check("GMRES", linear::GMRES{.rtol = 1e-12});
  // Boltzmann's constant in f32.
  const Array small = astype(1.380649e-23 * b, f32);
  auto sol =
      linear_solve(matrix_operator(astype(spd, f32), {.positive_definite = true}), small, linear::CG{});
  expect_close(astype(sol.value, f64) / 1.380649e-23, linalg::solve(spd, b), 1e-4);
}

TEST(LinearOperator, WhatDoesNotCountIsNotRead) {
  const LinearOperator t = tridiagonal_operator(lower.at(0).set(NAN), d, upper.at(2).set(INFINITY));
  const Array matrix = array({{1., 0.25, 0.}, {-1., 2., 2.}, {0., 0.5, 3.}}), x = array({1., -2., 3.});
  expect_close(t.mv(x), matmul(matrix, x), 1e-14);
  expect_close((t * t).transpose().mv(x), matmul(transpose(matmul(matrix, matrix)), x), 1e-13);
  expect_close(linear_solve(t, x).value, linalg::solve(matrix, x), 1e-13);
  // The transpose is tridiagonal, too.
  EXPECT_TRUE(t.transpose().is_banded());
  expect_close(linear_solve(t.transpose(), x, linear::Banded{}).value, linalg::solve(transpose(matrix), x),
               1e-13);
}

TEST(LinearSolve, SingularOperatorsFail) {
  const Array b = array({1., 2., 3.}), ranks = array({{1., 2., 3.}, {2., 4., 6.}, {0., 0., 1.}});
  auto check = [&](const char* name, const LinearOperator& a, const auto& method) {
    SCOPED_TRACE(name);
    auto quiet = [&](const LinearOperator& op, const Array& right) {
      return linear_solve(op, right, method, {.throw_ = false});
    };
    EXPECT_EQ(jit(quiet)(a, b).result.template item<std::int64_t>(), 1);
    EXPECT_THROW(linear_solve(a, b, method), Error);
    EXPECT_THROW(jit([&](const Array& right) { return linear_solve(a, right, method).value; })(b), Error);
  };
  check("LU", matrix_operator(ranks), linear::LU{});
  check("Cholesky", matrix_operator(ranks, {.positive_definite = true}), linear::Cholesky{});
  check("Diagonal", diagonal_operator(array({1., 0., 2.})), linear::Diagonal{});
  check("Banded", tridiagonal_operator(b, zeros({3}), b), linear::Banded{});
  check("Triangular", matrix_operator(diag(array({1., 0., 2.})), {.lower_triangular = true}),
        linear::Triangular{});
  check("QR", matrix_operator(diag(array({1., 0., 2.}))), linear::QR{});
}

TEST(LinearOperator, SumsAndMultiplesKeepTheirDiagonals) {
  const LinearOperator t = tridiagonal_operator(lower, d, upper), i = identity_operator(3),
                       g = diagonal_operator(d);
  const Array x = array({1., -2., 3.});
  for (const LinearOperator& op : {t + 0.1 * i, g - 2. * t, t + t, -t, Array(3.) * (t + g)}) {
    EXPECT_TRUE(op.is_banded() && !op.is_diagonal());
    expect_close(linear_solve(op, x, linear::Banded{}).value, linalg::solve(op.as_matrix(), x), 1e-13);
  }
  for (const LinearOperator& op : {g + i, 2. * i, g - 0.5 * i, -g}) {
    EXPECT_TRUE(op.is_diagonal());
    expect_close(linear_solve(op, x, linear::Diagonal{}).value, linalg::solve(op.as_matrix(), x), 1e-14);
  }
  // Of a long one no matrix is made: a hundred thousand unknowns would have 80 GB.
  const Array one = ones({100'000});
  const LinearOperator heat = tridiagonal_operator(-one, 2. * one, -one) + 0.1 * identity_operator(100'000);
  auto sol = linear_solve(heat, one);
  EXPECT_LT(sol.residual.item<double>(), 1e-10);
  // By the factor, too.
  auto first = [&](const Array& factor) { return linear_solve(t + factor * i, x).value[0]; };
  const double step = 1e-6, at = 0.7;
  EXPECT_NEAR(grad(first)(at).item<double>(),
              (first(at + step).item<double>() - first(at - step).item<double>()) / (2 * step), 1e-7);
}

// The derivative of a reaction with diffusion: three diagonals of 300, three products in place of 300.
TEST(LinearOperator, BandedJacobians) {
  const std::int64_t n = 300;
  auto field = [](const Array& u) {
    const Array left = concatenate({u[range(0, 1)], u[range(0, -1)]}),
                right = concatenate({u[range(1, {})], u[range(-1, {})]});
    return 100. * (left - 2. * u + right) + u * (1. - u * u);
  };
  const Array u = sin(arange(n) * 0.1), b = cos(arange(n) * 0.3);
  const LinearOperator j = jacobian_operator(field, u, {.lower = 1, .upper = 1});
  EXPECT_TRUE(j.is_banded());
  const Array dense = jacfwd(field)(u);
  EXPECT_EQ(j.as_matrix().to_vector<double>(), dense.to_vector<double>());
  // One step of the implicit Euler method.
  auto step = [&](const Array& at) {
    return linear_solve(identity_operator(n) - 0.01 * jacobian_operator(field, at, {.lower = 1, .upper = 1}),
                        b)
        .value;
  };
  expect_close(jit(step)(u), linalg::solve(eye(n) - 0.01 * dense, b), 1e-13);
  expect_close(jit(grad([&](const Array& at) { return sum(step(at)); }))(u), grad([&](const Array& at) {
                 return sum(linalg::solve(eye(n) - 0.01 * jacfwd(field)(at), b));
               })(u),
               1e-12);
  // Bands as wide as the matrix, and wider: all of it.
  auto mixes = [](const Array& x) { return x * sum(x * x) + arange(4.); };
  const Array x = array({1., -2., 0.5, 3.});
  for (std::int64_t width : {3, 5})
    expect_close(jacobian_operator(mixes, x, {.lower = width, .upper = width}).as_matrix(), jacfwd(mixes)(x),
                 1e-14);
  EXPECT_EQ(jacobian_operator(field, u, {.lower = 2, .upper = 1}).as_matrix().to_vector<double>(),
            dense.to_vector<double>());
}

TEST(LinearOperator, TagsAreThoseOfTheTranspose) {
  const LinearOperator a = matrix_operator(m).transpose().tagged({.lower_triangular = true});
  EXPECT_TRUE(a.transpose().tags().upper_triangular);
  EXPECT_FALSE(a.transpose().tags().lower_triangular);
  EXPECT_TRUE(LinearOperator().is_empty());
  EXPECT_FALSE(identity_operator(0).is_empty());
}

TEST(LinearSolve, LeastSquaresOfTallOperators) {
  const Array a = array({{1., 0.}, {1., 1.}, {1., 2.}, {1., 4.}}), b = array({1., 2., 2., 5.});
  const Array exact = linalg::lstsq(a, b).x;
  expect_close(linear_solve(matrix_operator(a), b).value, exact, 1e-13);
  expect_close(linear_solve(matrix_operator(a), b, linear::NormalCG{.rtol = 1e-13}).value, exact, 1e-11);
  const Array short_b = array({1., 2.});
  expect_close(linear_solve(matrix_operator(transpose(a)), short_b).value,
               linalg::lstsq(transpose(a), short_b).x, 1e-13);
  expect_close(linear_solve(matrix_operator(transpose(a)), array({1., 2.}), linear::SVD{}).value,
               linalg::lstsq(transpose(a), array({1., 2.})).x, 1e-13);
}

TEST(LinearSolve, PoissonMatrixFreeWithPreconditioner) {
  // -u'' on 200 points: matrix-free CG, and fewer steps with the inverse of the diagonal of 2 + i.
  const std::int64_t points = 200;
  const Array weights = 2. + arange(points) * 1.;
  auto apply = [&](const Array& u) {
    const Array zero = zeros({1});
    return weights * u - concatenate({u[range(1, {})], zero}) - concatenate({zero, u[range(0, -1)]});
  };
  const LinearOperator a = function_operator(apply, zeros({points}), {.positive_definite = true});
  const Array b = sin(arange(points) * 0.1);
  const Array exact =
      linear_solve(tridiagonal_operator(full({points}, -1.), weights, full({points}, -1.)), b).value;
  expect_close(linear_solve(a, b, linear::CG{.rtol = 1e-11}).value, exact, 1e-9);
  const LinearOptions options{.preconditioner = diagonal_operator(1. / weights), .throw_ = false};
  // Within eight steps only with the preconditioner.
  const linear::CG few{.rtol = 1e-6, .max_steps = 8};
  EXPECT_EQ(linear_solve(a, b, few, options).result.item<std::int64_t>(), 0);
  EXPECT_EQ(linear_solve(a, b, few, {.throw_ = false}).result.item<std::int64_t>(), 1);
  expect_close(linear_solve(a, b, linear::BiCGStab{.rtol = 1e-11}, options).value, exact, 1e-9);
  expect_close(linear_solve(a, b, linear::GMRES{.rtol = 1e-11}, options).value, exact, 1e-9);
}

}  // namespace
