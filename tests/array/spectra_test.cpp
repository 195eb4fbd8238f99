// Eigenvalues of general matrices, Schur's and Hessenberg's forms, functions of matrices by them, and roots
// of polynomials: against JAX and SciPy, and by the errors of what the factors give back.

#include <atomic>
#include <complex>
#include <thread>
#include <vector>

#include <apsis/apsis.hpp>

#include "array/suite.hpp"

namespace apsis::testing {
namespace {

namespace la = linalg;

// Matrices are of order 6 at most; eigenvectors' condition numbers go into values and gradients, up to about
// 100 roundings of each.
constexpr double f64_bound = 1e-11, f32_bound = 2e-3;

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

Array row(const Array& x) { return expand_dims(x, -2); }

/// What depends neither on the order of eigenvalues nor on the signs of vectors.
Arrays invariants(const la::EigResult& f) {
  const Array &w = f.eigenvalues, &v = f.eigenvectors;
  return {sum(sin(w), {.axis = -1}), matmul(v * row(sin(w)), la::inv(v)),
          sum(square(abs(v)) * row(cos(real(w))), {.axis = -1}),
          sum(square(sum(v, {.axis = -2})) * sin(w), {.axis = -1})};
}

TEST(Spectra, AreThoseOfJax) {
  check_file(
      "spectra",
      {
          {"eig", several([](const Case&, Inputs x) { return invariants(la::eig(x[0])); })},
          {"eigvals", of_matrix([](const Array& a) { return sum(sin(la::eigvals(a)), {.axis = -1}); })},
          {"hessenberg", several([](const Case&, Inputs x) {
             const auto [h, q] = la::hessenberg(x[0]);
             return Arrays{h, q};
           })},
          {"sqrtm", of_matrix([](const Array& a) { return la::sqrtm(a); })},
          {"logm", of_matrix([](const Array& a) { return la::logm(a); })},
          {"funm", of_case([](const Case& c, Inputs x) {
             return c.text.at("of") == "sin" ? la::funm(x[0], [](const Array& w) { return sin(w); })
                                             : la::funm(x[0], [](const Array& w) { return exp(w); });
           })},
          {"eigh_tridiagonal", several([](const Case&, Inputs x) {
             const auto [w, v] = la::eigh_tridiagonal(x[0], x[1]);
             return Arrays{w, matmul(v * row(sin(w)), conj(matrix_transpose(v)))};
           })},
          {"solve_sylvester",
           of_case([](const Case&, Inputs x) { return la::solve_sylvester(x[0], x[1], x[2]); })},
          {"polar", several([](const Case& c, Inputs x) {
             const auto [u, p] = la::polar(x[0], {.left = flag(c, "left")});
             return Arrays{u, p};
           })},
          {"expm_frechet", several([](const Case&, Inputs x) { return both(la::expm_frechet(x[0], x[1])); })},
          {"roots", of_case([](const Case& c, Inputs x) {
             const Array found = roots(x[0], {.strip_zeros = flag(c, "strip") && is_concrete(x[0])});
             return sum(where(isnan(found), 0., sin(found)));
           })},
          {"trim_zeros", sized(of_case([](const Case& c, Inputs x) {
             const std::string& side = c.text.at("side");
             return trim_zeros(x[0], side == "fb"  ? TrimSide::Both
                                     : side == "f" ? TrimSide::Front
                                                   : TrimSide::Back);
           }))},
      });
}

double largest(const Array& x) { return x.size() == 0 ? 0 : max(abs(x)).item<double>(); }

// Backward errors, as in linalg_test.cpp: up to 10·n roundings of the norm.
TEST(Spectra, FactorsGiveBackTheMatrix) {
  for (const Dtype dtype : {f64, f32, c128, c64})
    for (const std::int64_t n : {1, 2, 3, 8, 17, 40}) {
      SCOPED_TRACE(std::string(name_of(dtype)) + ", " + std::to_string(n));
      const bool wide = dtype == f64 || dtype == c128;
      const Array parts = random::normal(random::key(n), {2, 2, n, n}, wide ? f64 : f32);
      const Array a = is_complex(dtype) ? complex(parts[0], parts[1]) : parts[0];
      const double bound =
          10 * static_cast<double>(n) * (wide ? 0x1p-52 : 0x1p-23) * largest(la::matrix_norm(a));
      const auto adjoint = [](const Array& x) { return conj(matrix_transpose(x)); };
      const auto near = [&](const Array& got, const Array& want, const char* what) {
        EXPECT_LE(largest(got - want), bound) << what;
      };
      const auto [w, v] = la::eig(a);
      near(matmul(a, v), v * row(w), "eig");
      near(sum(la::eigvals(a), {.axis = -1}), la::trace(a), "eigvals");
      for (const bool complex_form : {false, true}) {
        const auto [t, z] = la::schur(a, {.complex = complex_form});
        near(matmul(matmul(z, t), adjoint(z)), a, "schur");
        const bool triangular = complex_form || is_complex(dtype);
        EXPECT_EQ(largest(tril(t, triangular ? -1 : -2)), 0.);
      }
      const auto [h, q] = la::hessenberg(a);
      near(matmul(matmul(q, h), adjoint(q)), a, "hessenberg");
      EXPECT_EQ(largest(tril(h, -2)), 0.);
      const Array shifted = a + 4. * eye(n);
      const Array x = la::solve_sylvester(a, shifted, parts[1]);
      EXPECT_LE(largest(matmul(a, x) + matmul(x, shifted) - parts[1]), bound * 10 * (1 + largest(x)))
          << "sylvester";
      const Array root = la::sqrtm(matmul(a, adjoint(a)));
      EXPECT_LE(largest(matmul(root, root) - matmul(a, adjoint(a))), bound * 10 * largest(la::matrix_norm(a)))
          << "sqrtm";
    }
}

TEST(Spectra, LogarithmsAreInverseToExponentials) {
  for (const double size : {0.01, 1., 8.}) {
    const Array a = size * random::normal(random::key(5), {4, 4}) / 4.;
    const Array power = la::expm(a), log = la::logm(power);
    EXPECT_LE(largest(la::expm(log) - power), 1e-12 * largest(power)) << size;
    if (size < 2) {
      EXPECT_LE(largest(log - a), 1e-13 * la::cond(power).item<double>()) << size;
    }
  }
}

// grad of what a function of eigenvectors is, in lanes and compiled, twice.
// OpenBLAS's serial build alone would give some of them wrong values.
TEST(Spectra, OnSeveralThreads) {
  const Array parts = random::normal(random::key(3), {2, 20, 20}, f32), a = complex(parts[0], parts[1]);
  const auto results = [](const Array& x) {
    const auto [w, v] = la::eigh(x);
    return Arrays{w, v, la::schur(x).t, la::inv(x), matmul(x, x)};
  };
  const Arrays want = results(a);
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        const Arrays got = results(a);
        for (std::size_t j = 0; j < want.size(); ++j) wrong += !identical(got[j], want[j]);
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(Spectra, SecondDerivatives) {
  const Array a = random::normal(random::key(6), {3, 3}) + 4. * eye(3);
  assert_numerical_gradients([](const Array& x) { return real(la::sqrtm(x)); }, std::tuple{a}, {.order = 2});
  assert_numerical_gradients([](const Array& x) { return real(la::logm(x)); }, std::tuple{a}, {.order = 2});
  assert_numerical_gradients([](const Array& x) { return sum(sin(la::eigvals(x))); }, std::tuple{a},
                             {.order = 2});
}

TEST(Spectra, RootsOfTracedPolynomials) {
  const Array p = array({0., 1., -3., 2.});
  const Array found = jit([](const Array& x) { return roots(x, {.strip_zeros = false}); })(p);
  EXPECT_LE(largest(sort(real(found[range(0, 2)])) - array({1., 2.})), 1e-14);
  EXPECT_TRUE(isnan(real(found[2])).item<bool>());
  EXPECT_EQ(roots(p).dim(0), 2);
  EXPECT_THROW(jit([](const Array& x) { return roots(x); })(p), Error);
  EXPECT_THROW(jit([](const Array& x) { return trim_zeros(x); })(p), Error);
}

}  // namespace
}  // namespace apsis::testing
