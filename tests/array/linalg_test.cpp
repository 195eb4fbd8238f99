// Linear algebra against JAX, and by the errors of what the factors give back.

#include "apsis/array/linalg.hpp"

#include <limits>
#include <apsis/apsis.hpp>

#include "array/suite.hpp"

namespace apsis::testing {
namespace {

// Matrices are of order 6 at most and have condition numbers up to about 100: n·κ roundings.
constexpr double f64_bound = 1e-12, f32_bound = 1e-4;

template <class F>
Function of_matrix(F f) {
  return unary(f, f64_bound, f32_bound);
}
template <class F>
Function of_case(F f) {
  return one(f, f64_bound, f32_bound);
}
template <class F>
Function several(F f) {
  return {f, f64_bound, f32_bound};
}

linalg::NormOrder order(const Case& c) {
  const std::string& word = c.text.at("ord");
  if (word == "fro") return linalg::fro;
  if (word == "nuc") return linalg::nuc;
  return std::stod(word);
}

Axes axes(const Case& c) {
  const Dims named = dims(c, "axis");
  return named.empty() ? Axes() : Axes(named);
}

linalg::RankOptions rank_options(const Case& c) {
  if (!c.text.contains("rtol")) return {};
  return {.rtol = std::pow(10., -static_cast<double>(number(c, "rtol")))};
}

/// U·diag(sin(s))·V, which does not depend on signs of vectors.
Array with_sines(const Array& u, const Array& s, const Array& v) {
  return matmul(u * expand_dims(sin(s), -2), v);
}

TEST(ArrayRoom, Linalg) {
  namespace la = linalg;
  check_file(
      "linalg",
      {
          {"cholesky", of_case([](const Case& c, Inputs x) {
             return la::cholesky(x[0],
                                 {.upper = flag(c, "upper"), .symmetrize_input = flag(c, "symmetrize")});
           })},
          {"lu_factor", several([](const Case&, Inputs x) {
             const la::LUFactors f = la::lu_factor(x[0]);
             return Arrays{f.lu, f.pivots, f.permutation};
           })},
          {"lu", several([](const Case&, Inputs x) {
             const la::LUResult f = la::lu(x[0]);
             return Arrays{f.p, f.l, f.u};
           })},
          {"qr", several([](const Case& c, Inputs x) {
             const la::QRResult f = la::qr(x[0], {.full_matrices = flag(c, "full")});
             return Arrays{f.q, f.r};
           })},
          {"eigh", several([](const Case&, Inputs x) {
             const auto [w, v] = la::eigh(x[0]);
             return Arrays{w, abs(v), with_sines(v, w, conj(matrix_transpose(v)))};
           })},
          {"eigvalsh", of_matrix([](const Array& a) { return la::eigvalsh(a); })},
          {"svd", several([](const Case&, Inputs x) {
             const auto [u, s, vh] = la::svd(x[0], {.full_matrices = false});
             return Arrays{s, abs(u), abs(vh), with_sines(u, s, vh)};
           })},
          {"svdvals", of_matrix([](const Array& a) { return la::svdvals(a); })},
          {"solve", of_case([](const Case&, Inputs x) { return la::solve(x[0], x[1]); })},
          {"lu_solve", of_case([](const Case& c, Inputs x) {
             return la::lu_solve(la::lu_factor(x[0]), x[1], flag(c, "transpose"));
           })},
          {"cho_solve", of_case([](const Case& c, Inputs x) {
             const bool lower = flag(c, "lower");
             return la::cho_solve({la::cholesky(x[0], {.upper = !lower}), lower}, x[1]);
           })},
          {"solve_triangular", of_case([](const Case& c, Inputs x) {
             return la::solve_triangular(x[0], x[1],
                                         {.transpose = flag(c, "transpose"),
                                          .lower = flag(c, "lower"),
                                          .unit_diagonal = flag(c, "unit")});
           })},
          {"triangular_solve", of_case([](const Case& c, Inputs x) {
             return la::triangular_solve(x[0], x[1],
                                         {.left_side = flag(c, "left"), .lower = flag(c, "lower")});
           })},
          {"tridiagonal_solve",
           of_case([](const Case&, Inputs x) { return la::tridiagonal_solve(x[0], x[1], x[2], x[3]); })},
          {"solve_banded", of_case([](const Case& c, Inputs x) {
             return la::solve_banded({number(c, "lower"), number(c, "upper")}, x[0], x[1]);
           })},
          {"inv", of_matrix([](const Array& a) { return la::inv(a); })},
          {"tensorinv", of_case([](const Case& c, Inputs x) {
             return la::tensorinv(x[0], static_cast<int>(number(c, "ind")));
           })},
          {"tensorsolve",
           of_case([](const Case& c, Inputs x) { return la::tensorsolve(x[0], x[1], dims(c, "axes")); })},
          {"lstsq", several([](const Case& c, Inputs x) {
             const la::LstsqResult f = la::lstsq(x[0], x[1], rank_options(c));
             Arrays out{f.x, f.rank, f.s};
             if (flag(c, "residuals")) out.push_back(f.residuals);
             return out;
           })},
          {"pinv", of_case([](const Case& c, Inputs x) { return la::pinv(x[0], rank_options(c)); })},
          {"det", of_matrix([](const Array& a) { return la::det(a); })},
          {"slogdet", several([](const Case&, Inputs x) {
             const auto [sign, logabsdet] = la::slogdet(x[0]);
             return Arrays{sign, logabsdet};
           })},
          {"vector_norm", of_case([](const Case& c, Inputs x) {
             return la::vector_norm(x[0],
                                    {.ord = order(c), .axis = axes(c), .keepdims = flag(c, "keepdims")});
           })},
          {"matrix_norm", of_case([](const Case& c, Inputs x) {
             return la::matrix_norm(x[0], {.ord = order(c), .keepdims = flag(c, "keepdims")});
           })},
          {"cond", of_case([](const Case& c, Inputs x) { return la::cond(x[0], order(c)); })},
          {"matrix_rank", of_matrix([](const Array& a) { return la::matrix_rank(a); })},
          {"trace", of_case([](const Case& c, Inputs x) {
             return la::trace(x[0], static_cast<int>(number(c, "offset")));
           })},
          {"diagonal", of_case([](const Case& c, Inputs x) {
             return la::diagonal(x[0], static_cast<int>(number(c, "offset")));
           })},
          {"matrix_power",
           of_case([](const Case& c, Inputs x) { return la::matrix_power(x[0], number(c, "n")); })},
          {"multi_dot", of_case([](const Case&, Inputs x) { return la::multi_dot(x); })},
          {"expm", of_matrix([](const Array& a) { return la::expm(a); })},
          {"block_diag", of_case([](const Case&, Inputs x) { return la::block_diag(x); })},
          {"toeplitz", of_case([](const Case& c, Inputs x) {
             return flag(c, "one") ? la::toeplitz(x[0]) : la::toeplitz(x[0], x[1]);
           })},
      });
}

// Backward errors: what the factors give back is the matrix up to 4·n roundings of its norm (N. Higham,
// Accuracy and stability of numerical algorithms, 2002, theorems 9.3, 10.3 and 19.4 with the constants met in
// practice).

struct Roundings {
  Dtype dtype;
  double eps;
};
constexpr Roundings all_roundings[] = {{f64, 0x1p-52}, {f32, 0x1p-23}};

double frobenius(const Array& x) { return norm(astype(x, f64)).item<double>(); }

void expect_backward(const Array& got, const Array& want, std::int64_t n, double eps, const char* what) {
  const double bound = 4 * static_cast<double>(std::max<std::int64_t>(n, 1)) * eps * frobenius(want);
  EXPECT_LE(frobenius(astype(got, f64) - astype(want, f64)), bound) << what;
}

template <class Check>
void for_random_matrices(const Check& check) {
  for (const Roundings& r : all_roundings)
    for (std::int64_t seed = 0; seed < 12; ++seed) {
      const std::int64_t sizes[] = {1, 2, 3, 5, 8, 16, 17, 31, 64, 65, 100, 150};
      const std::int64_t n = sizes[seed];
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(n) + " rows of " +
                   std::string(name_of(r.dtype)));
      check(random::key(seed), n, r);
      if (::testing::Test::HasFailure()) return;
    }
}

TEST(ArrayRoom, FactorsGiveBackTheMatrix) {
  for_random_matrices([](const Array& key, std::int64_t n, const Roundings& r) {
    const Array wide = random::normal(key, {2, n, n + 3}, r.dtype), tall = matrix_transpose(wide);
    const Array square = random::normal(key, {n, n}, r.dtype);
    const Array symmetric = (square + transpose(square)) / 2.;
    const Array definite = matmul(square, transpose(square)) + eye(n, -1, 0, r.dtype);
    const Array l = linalg::cholesky(definite), u = linalg::cholesky(definite, {.upper = true});
    expect_backward(matmul(l, transpose(l)), definite, n, r.eps, "cholesky");
    expect_backward(matmul(transpose(u), u), definite, n, r.eps, "cholesky, upper");
    const auto [w, v] = linalg::eigh(symmetric);
    expect_backward(matmul(v * w, transpose(v)), symmetric, n, r.eps, "eigh");
    expect_backward(linalg::eigvalsh(symmetric), w, n, r.eps, "eigvalsh");
    for (const Array& a : {wide, tall}) {
      const auto [p, lower, upper] = linalg::lu(a);
      expect_backward(matmul(p, matmul(lower, upper)), a, n, r.eps, "lu");
      for (bool full : {false, true}) {
        const auto [q, t] = linalg::qr(a, {.full_matrices = full});
        expect_backward(matmul(q, t), a, n, r.eps, "qr");
        expect_backward(matmul(matrix_transpose(q), q),
                        zeros_like(matmul(matrix_transpose(q), q)) + eye(q.dim(-1), -1, 0, r.dtype), n, r.eps,
                        "Q of qr");
        const auto [left, s, right] = linalg::svd(a, {.full_matrices = full});
        const std::int64_t k = s.dim(-1);
        const Array some = left(ellipsis, range(0, k)) * expand_dims(s, -2);
        expect_backward(matmul(some, right(ellipsis, range(0, k), range())), a, n, r.eps, "svd");
        expect_backward(linalg::svdvals(a), s, n, r.eps, "svdvals");
      }
    }
  });
}

TEST(ArrayRoom, SolutionsFitTheirEquations) {
  for_random_matrices([](const Array& key, std::int64_t n, const Roundings& r) {
    const Array keys = random::split(key, 2);
    const Array a = random::normal(keys[0], {n, n}, r.dtype), b = random::normal(keys[1], {n, 3}, r.dtype);
    // |b - A·x| is small against |A|·|x|, however large x is.
    const auto expect_solved = [&](const Array& m, const Array& x, const Array& right, const char* what) {
      const double scale = frobenius(m) * frobenius(x) + frobenius(right);
      EXPECT_LE(frobenius(matmul(astype(m, f64), astype(x, f64)) - astype(right, f64)),
                4 * static_cast<double>(n) * r.eps * scale)
          << what;
    };
    expect_solved(a, linalg::solve(a, b), b, "solve");
    const linalg::LUFactors f = linalg::lu_factor(a);
    expect_solved(transpose(a), linalg::lu_solve(f, b, true), b, "lu_solve, transposed");
    const Array definite = matmul(a, transpose(a)) + eye(n, -1, 0, r.dtype);
    expect_solved(definite, linalg::cho_solve(linalg::cho_factor(definite), b), b, "cho_solve");
    const Array triangular = tril(a) + 2. * eye(n, -1, 0, r.dtype);
    expect_solved(triangular, linalg::solve_triangular(triangular, b, {.lower = true}), b,
                  "solve_triangular");
    const Array diagonal = linalg::diagonal(a) + 4., above = b(range(), 0), below = b(range(), 1);
    const Array i = arange(n);
    const Array matrix = diag(diagonal) +
                         where(expand_dims(i, 1) == i + 1, expand_dims(below, 1), Array(0., r.dtype)) +
                         where(expand_dims(i, 1) == i - 1, expand_dims(above, 1), Array(0., r.dtype));
    expect_solved(matrix, linalg::tridiagonal_solve(below, diagonal, above, b), b, "tridiagonal_solve");
    // Of any matrix the diagonals are all of it; of what a band keeps, those of the band.
    for (const std::int64_t lower : {n - 1, n / 3})
      for (const std::int64_t upper : {n - 1, n / 4}) {
        const Array band =
            where(expand_dims(i, 1) - i <= lower && i - expand_dims(i, 1) <= upper, a, Array(0., r.dtype));
        const Array row = arange(lower + 1 + upper), j = i + expand_dims(row, 1) - upper;
        const Array ab =
            where(j >= 0 && j < n, band(clip(j, 0, n - 1), broadcast_to(i, j.shape())), Array(NAN, r.dtype));
        expect_solved(band, linalg::solve_banded({lower, upper}, ab, b), b, "solve_banded");
      }
  });
}

// No index leaves the matrix, whatever the elements are.
TEST(ArrayRoom, PivotsAreRowsWhereElementsAreNone) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (double special : {nan, std::numeric_limits<double>::infinity(), 1e308})
    for (std::int64_t n = 1; n < 40; ++n)
      for (std::int64_t at = 0; at < n; at += 3) {
        const Array a = random::normal(random::key(n), {n, n}).at(range(), at).set(special);
        const linalg::LUFactors f = linalg::lu_factor(a);
        EXPECT_TRUE(all(sort(f.permutation) == arange(n)).item<bool>()) << n << ", " << at;
        EXPECT_TRUE(all(f.pivots >= arange(n) && f.pivots < n).item<bool>()) << n << ", " << at;
      }
}

TEST(ArrayRoom, HalfFloatsAreComputedInSingle) {
  const Array a = random::normal(random::key(3), {4, 4}, f32) + 4. * eye(4, -1, 0, f32);
  const Array symmetric = matmul(a, transpose(a));
  for (Dtype half : {f16, bf16}) {
    const Array h = astype(symmetric, half), single = astype(h, f32);
    EXPECT_TRUE(identical(linalg::cholesky(h, {.symmetrize_input = false}),
                          astype(linalg::cholesky(single, {.symmetrize_input = false}), half)));
    EXPECT_TRUE(identical(linalg::svdvals(h), astype(linalg::svdvals(single), half)));
    EXPECT_EQ(linalg::expm(h / 64.).dtype(), half);
    EXPECT_EQ(linalg::solve(h, h).dtype(), half);
  }
}

// One LU, and solves with it, for a function and its derivative.
TEST(ArrayRoom, SecondDerivativesOfSolves) {
  const Array a = random::normal(random::key(4), {3, 3}) + 4. * eye(3),
              b = random::normal(random::key(5), {3});
  auto f = [](const Array& m, const Array& right) { return sum(square(linalg::solve(m, right))); };
  const Array found = jit(hessian(f))(a, b);
  const auto slope = grad(f);
  const double step = 1e-5;
  for (int i = 0; i < 3; ++i) {
    const Array along = zeros({3, 3}).at(i, (i + 1) % 3).set(1.);
    const Array difference = (slope(a + step * along, b) - slope(a - step * along, b)) / (2 * step);
    EXPECT_LE(frobenius(found(range(), range(), i, (i + 1) % 3) - difference), 1e-8 * frobenius(difference));
  }
}

// Of an operand that is not differentiated there are no products with zeros, which infinite elements would
// make NaN.
TEST(ArrayRoom, LeastSquaresDifferentiatedByOneOperand) {
  const Array a = random::normal(random::key(6), {5, 3}), b = random::normal(random::key(7), {5, 40});
  auto f = [](const Array& m, const Array& right) { return sum(square(linalg::lstsq(m, right).x)); };
  const auto [by_a, by_b] = grad<0, 1>(f)(a, b);
  const auto only_a = [&](const Array& m) { return f(m, b); };
  const auto only_b = [&](const Array& right) { return f(a, right); };
  EXPECT_LE(frobenius(jit(grad(only_a))(a) - by_a), 1e-12 * frobenius(by_a));
  EXPECT_LE(frobenius(jit(grad(only_b))(b) - by_b), 1e-12 * frobenius(by_b));
  const std::string program = make_graph(grad(only_b), b);
  std::size_t products = 0;
  for (std::size_t at = program.find("dot_general"); at != std::string::npos;
       at = program.find("dot_general", at + 1))
    ++products;
  EXPECT_LE(products, 5u) << program;
}

// Vectors of equal eigenvalues have no derivative, the eigenvalues have.
TEST(ArrayRoom, EqualEigenvalues) {
  auto values = [](const Array& x) { return sum(linalg::eigvalsh(x) * array({1., 2., 3.})); };
  EXPECT_TRUE(all(isfinite(grad(values)(eye(3)))).item<bool>());
  auto vectors = [](const Array& x) { return sum(linalg::eigh(x).eigenvectors * arange(3.)); };
  EXPECT_FALSE(all(isfinite(grad(vectors)(eye(3)))).item<bool>());
  auto trace_of_both = [](const Array& x) {
    const auto [w, v] = linalg::eigh(x);
    return sum(w) + 0. * sum(stop_gradient(v));
  };
  EXPECT_TRUE(identical(grad(trace_of_both)(eye(3)), eye(3)));
}

TEST(Linalg, VectorsOneAMatrixAreToldHowToBeGiven) {
  const Array a = broadcast_to(2. * eye(4), {3, 4, 4}), b = ones({3, 4});
  try {
    linalg::solve_triangular(a, b);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("given as expand_dims(b, -1)"), std::string::npos) << e.what();
  }
  EXPECT_EQ(linalg::solve_triangular(a, expand_dims(b, -1)).shape(), (Shape{3, 4, 1}));
}

}  // namespace
}  // namespace apsis::testing
