// Sparse operators, their LU, and Jacobians whose pattern is found in the program.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <apsis/apsis.hpp>

#include "apsis/transform/linear_terms.hpp"
#include "errors/error_of.hpp"
#include "solve/sparse.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// A matrix of which two in three entries are 0, and the diagonal is not.
Array some_matrix(std::int64_t n, std::int64_t seed) {
  const auto [there, values] = random::split<2>(random::key(seed));
  const Array entries = random::uniform(values, {n, n}) - 0.5;
  return where(random::bernoulli(there, 0.3, {n, n}), entries, 0.) + 3. * eye(n);
}
LinearOperator sparse(const Array& matrix) {
  const SparsePattern p = SparsePattern::of(matrix);
  const auto rows = p.row_indices();
  return sparse_operator(p, matrix(array(rows), array(std::vector<std::int64_t>(p.column_indices().begin(),
                                                                                p.column_indices().end()))));
}
const Array matrix = some_matrix(9, 1), other = some_matrix(9, 2);
const Array right = linspace(-1., 2., 9);

TEST(SparseOperator, IsTheMatrix) {
  const LinearOperator a = sparse(matrix), b = sparse(other);
  const auto same = [](const LinearOperator& op, const Array& want) {
    EXPECT_TRUE(op.is_sparse());
    EXPECT_TRUE(array_equal(op.as_matrix(), want).item<bool>());
    // Sums of a row in another order: a few ULP of its nine terms.
    expect_near(op.mv(right), matmul(want, right), 1e-14);
    expect_near(op.transpose().mv(right), matmul(right, want), 1e-14);
  };
  same(a, matrix);
  same(a.transpose(), transpose(matrix));
  same(a + b, matrix + other);
  same(a - b, matrix - other);
  same(2.5 * a, 2.5 * matrix);
  same(identity_operator(9) - 0.1 * a, eye(9) - 0.1 * matrix);
  const LinearOperator bands = tridiagonal_operator(right, 2. * right, right + 1.);
  same(a + bands, matrix + bands.as_matrix());
  same(bands + a, bands.as_matrix() + matrix);
  const Array wide = matrix[range(0, 4)];
  const LinearOperator part = sparse(wide);
  expect_near(part.mv(right), matmul(wide, right), 1e-14);
  expect_near(part.transpose().mv(ones({4})), matmul(ones({4}), wide), 1e-14);
  expect_near((a * b).mv(right), matmul(matrix, matmul(other, right)), 1e-13);
  EXPECT_EQ(sparse(zeros({0, 0})).mv(zeros({0})).size(), 0);
  EXPECT_TRUE(array_equal(sparse(zeros({3, 9})).mv(right), zeros({3})).item<bool>());
}

TEST(SparseOperator, IsDifferentiatedByItsEntries) {
  const LinearOperator a = sparse(matrix);
  const auto f = [&](const Array& entries, const Array& x) {
    const LinearOperator op = sparse_operator(a.pattern(), entries);
    return sum(sin(op.mv(x)) + (op + identity_operator(9)).transpose().mv(square(x)));
  };
  assert_numerical_gradients(f, std::tuple{a.entries(), right}, {.order = 2});
  const Array many = stack({right, 2. * right});
  expect_near(jit(vmap([&](const Array& x) { return a.mv(x); }))(many), matmul(many, transpose(matrix)),
              1e-14);
}

TEST(SparseLU, Solves) {
  const LinearOperator a = sparse(matrix);
  const Array want = linalg::solve(matrix, right);
  // Condition numbers of about 10.
  expect_near(linear_solve(a, right, linear::SparseLU{}).value, want, 1e-13);
  expect_near(linear_solve(a, right).value, want, 1e-13);
  expect_near(linear_solve(a.transpose(), right).value, linalg::solve(transpose(matrix), right), 1e-13);
  expect_near(jit([&](const Array& b) { return linear_solve(a, b).value; })(right), want, 1e-13);
  const LinearOperator newton = identity_operator(9) - 0.1 * a;
  expect_near(linear_solve(newton, right).value, linalg::solve(eye(9) - 0.1 * matrix, right), 1e-13);
  const LinearOperator single = sparse(astype(matrix, f32));
  EXPECT_EQ(linear_solve(single, astype(right, f32)).value.dtype(), f32);
  EXPECT_EQ(linear_solve(sparse(zeros({0, 0})), zeros({0})).value.size(), 0);
}

// Pivots stay on the diagonal where they can; what a matrix gives is its own, whatever was solved before.
TEST(SparseLU, PivotsWhereTheDiagonalIsSmall) {
  constexpr std::int64_t n = 40;
  const Array ring = roll(eye(n), 1, 0) - 0.5 * roll(eye(n), -1, 0), b = linspace(-1., 2., n);
  const Array dominant = ring + 4. * eye(n), small = ring + 1e-14 * eye(n);
  const auto solved = [&](const Array& m) { return linear_solve(sparse(m), b, linear::SparseLU{}).value; };
  const Array first = solved(small);
  expect_near(first, linalg::solve(small, b), 1e-10);  // KLU's pivots may be a thousandth of the largest
  expect_near(solved(dominant), linalg::solve(dominant, b), 1e-14);
  EXPECT_TRUE(array_equal(solved(small), first).item<bool>());
  EXPECT_TRUE(array_equal(solved(2. * dominant), 0.5 * solved(dominant)).item<bool>());
}

/// A tridiagonal matrix of a ring whose elements are numbered in another order.
Array shuffled_ring(std::int64_t n) {
  const Array ring = 4. * eye(n) - roll(eye(n), 1, 0) - 0.5 * roll(eye(n), -1, 0);
  const Array order = random::permutation(random::key(5), n);
  return ring[order](range(), order);
}

TEST(Banded, SparseOperatorsInAnOrderThatIsFound) {
  for (std::int64_t n : {1, 2, 3, 40}) {
    const Array m = n < 3 ? some_matrix(n, 3) : shuffled_ring(n), b = linspace(-1., 2., n);
    const LinearOperator a = sparse(m);
    const detail::BandOrder found = detail::band_order(a.pattern());
    // Both ways around the ring.
    EXPECT_LE(found.widths.lower + found.widths.upper, 4) << n;
    for (const Array& x : {linear_solve(a, b).value, linear_solve(a, b, linear::Banded{}).value,
                           jit([&](const Array& r) { return linear_solve(a, r).value; })(b)})
      expect_near(x, linalg::solve(m, b), 1e-13);
  }
}

// Factors are kept for the next solve with the same elements, and for no other.
TEST(Banded, KeptFactorsAreThoseOfTheMatrix) {
  const Array bands = random::uniform(random::key(3), {5, 30}) - 0.5, b = linspace(-1., 2., 30);
  for (const Array& ab : {bands, bands, 2. * bands, bands, bands.at(0, 7).add(1e-3)})
    for (const Array& right_side : {b, 2. * b})
      expect_near(linalg::solve_banded({2, 2}, ab, right_side),
                  linalg::solve(banded_operator({2, 2}, ab).as_matrix(), right_side), 1e-11);
  EXPECT_TRUE(all(isnan(linalg::solve_banded({1, 1}, zeros({3, 4}), ones({4})))).item<bool>());
  expect_near(
      linalg::solve_banded({30, 30}, ones({61, 31}) + 9. * expand_dims(arange(61) == 30, 1), ones({31})),
      full({31}, 1. / 40), 1e-14);
}

TEST(SparseLU, RefusesSingularMatrices) {
  const Array singular = matrix.at(3).set(2. * matrix[4]), empty_row = matrix.at(range(), 2).set(0.);
  for (const Array& m : {singular, empty_row}) {
    const LinearOperator a = sparse_operator(sparse(matrix + 1e-300).pattern(), ravel(m));
    EXPECT_NE(error_of([&] { linear_solve(a, right); }).find("not finite"), std::string::npos);
    EXPECT_EQ(linear_solve(a, right, linear::SparseLU{}, {.throw_ = false}).result.item<std::int64_t>(), 1);
  }
}

TEST(SparseLU, HasTheDerivativesOfTheEquation) {
  const LinearOperator a = sparse(matrix);
  const auto f = [&](const Array& entries, const Array& b) {
    return sum(square(linear_solve(sparse_operator(a.pattern(), entries), b).value));
  };
  assert_numerical_gradients(f, std::tuple{a.entries(), right}, {.order = 2});
  // As the dense one.
  const auto dense = [&](const Array& m) { return sum(square(linalg::solve(m, right))); };
  const auto by_entries = [&](const Array& entries) { return f(entries, right); };
  const Array slope = sparse_operator(a.pattern(), jit(grad(by_entries))(a.entries())).as_matrix();
  expect_near(slope, where(matrix != 0., grad(dense)(matrix), 0.), 1e-12);
}

TEST(SparseLU, InLanes) {
  const LinearOperator a = sparse(matrix);
  const Array entries = stack({a.entries(), 2. * a.entries(), a.entries() + 0.1}),
              rights = stack({right, -right, right});
  const auto solve = [&](const Array& e, const Array& b) {
    return linear_solve(sparse_operator(a.pattern(), e), b).value;
  };
  const auto one_by_one = [&](const auto& e, const auto& b) {
    std::vector<Array> rows;
    for (int i = 0; i < 3; ++i) rows.push_back(solve(e(i), b(i)));
    return stack(rows);
  };
  const auto each = [](const Array& x) { return [x](int i) { return x[i]; }; };
  const auto same = [](const Array& x) { return [x](int) { return x; }; };
  expect_same_bits(vmap(solve)(entries, rights), one_by_one(each(entries), each(rights)));
  expect_same_bits(jit(vmap(solve, {.in_axes = {{}, 0}}))(a.entries(), rights),
                   one_by_one(same(a.entries()), each(rights)));
  expect_same_bits(vmap(solve, {.in_axes = {0, {}}})(entries, right), one_by_one(each(entries), same(right)));
  // One in the other: all pairs.
  const auto pairs =
      jit(vmap([&](const Array& e) { return vmap([&](const Array& b) { return solve(e, b); })(rights); }));
  const Array all = pairs(entries);
  for (int i = 0; i < 3; ++i) expect_same_bits(all(i, 1), solve(entries[i], rights[1]));
  const auto loss = [&](const Array& e, const Array& b) { return sum(square(solve(e, b))); };
  const Array slopes = jit(vmap(grad(loss)))(entries, rights);
  for (int i = 0; i < 3; ++i) expect_near(slopes[i], grad(loss)(entries[i], rights[i]), 1e-13);
}

/// The Brusselator on a line, u and v in turns or one behind the other.
template <bool in_turns>
Array brusselator(const Array& y) {
  const std::int64_t n = y.size() / 2;
  const Array pairs = in_turns ? reshape(y, {n, 2}) : transpose(reshape(y, {2, n}));
  const Array u = pairs(range(), 0), v = pairs(range(), 1);
  const double h = 1. / static_cast<double>(n + 1), diffusion = 0.02 / (h * h);
  const auto spread = [&](const Array& x, double edge) {
    const Array wide = concatenate({full({1}, edge), x, full({1}, edge)});
    return diffusion * (wide[range(0, -2)] - 2. * x + wide[range(2, {})]);
  };
  const Array reaction = square(u) * v;
  const Array du = 1. + reaction - 4. * u + spread(u, 1.), dv = 3. * u - reaction + spread(v, 3.);
  return in_turns ? ravel(stack({du, dv}, 1)) : concatenate({du, dv});
}

template <class F>
void expect_brusselator(const F& f) {
  const std::int64_t n = 256;
  const Array y = 1. + random::uniform(random::key(6), {2 * n});
  const LinearOperator found = jit([&](const Array& x) { return sparse_jacobian(f, x); })(y);
  // Two neighbours, itself, and the other substance.
  EXPECT_EQ(found.pattern().count(), 2 * (n + 2 * (n - 1) + n));
  const auto colors = found.pattern().column_colors();
  EXPECT_LE(*std::max_element(colors.begin(), colors.end()) + 1, 7);
  const Array dense = jit(jacfwd(f))(y);
  EXPECT_TRUE(array_equal(found.as_matrix(), dense).item<bool>());
  // A step of Newton's method for an implicit solver.
  const auto step = [&](const Array& x) {
    return linear_solve(identity_operator(2 * n) - 0.01 * sparse_jacobian(f, x), f(x), linear::SparseLU{})
        .value;
  };
  expect_near(jit(step)(y), linalg::solve(eye(2 * n) - 0.01 * dense, f(y)), 1e-11);
}

TEST(SparseJacobian, OfTheBrusselatorIsTheDenseOneBitForBit) {
  expect_brusselator(brusselator<true>);
  expect_brusselator(brusselator<false>);
}

/// What is found term by term is what products with unit vectors give; `terms`: as many, 0: they are not
/// found.
template <class F>
void expect_terms(const char* name, const F& f, const Array& x, std::size_t terms) {
  SCOPED_TRACE(name);
  const auto flat = [&](std::span<const Array> in) { return std::vector<Array>{f(in[0])}; };
  EXPECT_EQ(detail::linear_terms_call(detail::callee_of(flat), x, {}).size(), terms);
  const Array dense = jit(jacfwd(f))(x);
  const auto whole = [&](const Array& y) { return sparse_jacobian(f, y).as_matrix(); };
  EXPECT_TRUE(array_equal(jit(whole)(x), dense).template item<bool>());
  EXPECT_TRUE(array_equal(whole(x), jacfwd(f)(x)).template item<bool>());
  EXPECT_EQ(whole(astype(x, f32)).dtype(), Dtype::F32);
  const Array many = stack({x, 2. * x});
  expect_near(jit(vmap(whole))(many)[1], jacfwd(f)(2. * x), 1e-13);
}

TEST(SparseJacobian, TermByTermIsTheDenseOneBitForBit) {
  const Array x = 0.5 + random::uniform(random::key(8), {36});
  using A = const Array&;
  expect_terms(
      "alone", [](A y) { return sin(y) * exp(-y) / (1. + y * y); }, x, 1);
  expect_terms(
      "neighbours", [](A y) { return y * roll(y, 1, 0) + 3. * roll(y, -1, 0); }, x, 3);
  expect_terms(
      "parts",
      [](A y) {
        return concatenate({y[range(4, 9)] * y[range(0, 5)], -y[range(30, {})]});
      },
      x, 2);
  expect_terms(
      "chosen", [](A y) { return where(y > 1., y * flip(y, 0), 2. * y); }, x, 2);
  expect_terms(
      "picked",
      [](A y) {
        return square(y[array({3, 1, 35, 3, 0})]);
      },
      x, 1);
  const auto plane = [](A y) {
    const Array u = reshape(y, {6, 6}), wide = pad(u, {1, 1}, {1, 1});
    const auto shifted = [&](std::int64_t i, std::int64_t j) {
      return wide(range(1 + i, 7 + i), range(1 + j, 7 + j));
    };
    return ravel(u * (shifted(0, 1) + shifted(0, -1) + shifted(1, 0) + shifted(-1, 0) - 4. * u));
  };
  expect_terms("plane", plane, x, 5);
  // Terms that meet in some places only are not told apart.
  expect_terms(
      "here and there", [](A y) { return y[range(0, 35)] * flip(y[range(0, 35)], 0); }, x, 0);
  expect_terms(
      "transposed",
      [](A y) {
        return ravel(transpose(reshape(y, {4, 9}))) * flip(y, 0);
      },
      x, 0);
  expect_terms(
      "sums", [](A y) { return y - mean(y); }, x, 0);
  // What the pattern has beyond the terms is 0.
  const SparsePattern full = SparsePattern::of(ones({3, 3}));
  const auto cubes = [](A y) { return y * y * y; };
  EXPECT_TRUE(array_equal(sparse_jacobian(cubes, x[range(0, 3)], {.pattern = full}).as_matrix(),
                          jacfwd(cubes)(x[range(0, 3)]))
                  .item<bool>());
}

TEST(SparseJacobian, TakesRowsWhereTheseAreFewer) {
  // One row is full: a derivative for each column, or three for the rows.
  const auto f = [](const Array& x) {
    return concatenate({expand_dims(sum(square(x)), 0), x[range(1, {})] * x[range(0, -1)]});
  };
  const Array x = linspace(1., 2., 30);
  int calls = 0;
  const auto counted = [&](const Array& y) {
    ++calls;
    return f(y);
  };
  const LinearOperator a = sparse_jacobian(counted, x);
  EXPECT_EQ(a.pattern().count(), 30 + 2 * 29);
  EXPECT_TRUE(array_equal(a.as_matrix(), jacrev(f)(x)).item<bool>());
  EXPECT_LE(calls, 3);
}

TEST(SparseJacobian, OfAGivenPatternAndUnderTransformations) {
  const auto f = [](const Array& x) { return x * roll(x, 1, 0) + sin(x); };
  const Array x = linspace(0.5, 2., 8);
  const SparsePattern pattern = jacobian_sparsity(f, x);
  const auto whole = [&](const Array& y) { return sparse_jacobian(f, y, {.pattern = pattern}).as_matrix(); };
  EXPECT_TRUE(array_equal(whole(x), jacfwd(f)(x)).item<bool>());
  const Array many = stack({x, 2. * x});
  expect_near(jit(vmap(whole))(many)[1], jacfwd(f)(2. * x), 1e-15);
  assert_numerical_gradients([&](const Array& y) { return sum(square(whole(y))); }, std::tuple{x},
                             {.order = 2});
  EXPECT_EQ(sparse_jacobian([](const Array& y) { return 0. * floor(y); }, x).pattern().count(), 0);
}

}  // namespace
}  // namespace apsis::testing
