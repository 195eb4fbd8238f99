// Incomplete gamma and beta functions against mpmath, draws against JAX, and all distributions against their
// distribution functions (Kolmogorov and Smirnov's test, or chi-square) at fixed seeds.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "apsis/array/creation.hpp"
#include "apsis/array/random.hpp"
#include "apsis/array/shape.hpp"
#include "apsis/array/special.hpp"
#include "apsis/debug/assert_gradients.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/grad.hpp"
#include "apsis/transform/jvp.hpp"
#include "array/worst_errors.hpp"

namespace apsis::testing {
namespace {

Table incomplete_functions() {
  return {
      {"gammainc", binary([](const Array& a, const Array& x) { return special::gammainc(a, x); }, 1e-13)},
      {"gammaincc", binary([](const Array& a, const Array& x) { return special::gammaincc(a, x); }, 1e-13)},
      {"betainc", one([](auto&, auto x) { return special::betainc(x[0], x[1], x[2]); }, 1e-13)},
      {"gammaincinv",
       binary([](const Array& a, const Array& p) { return special::gammaincinv(a, p); }, 1e-12)},
      {"gammainccinv",
       binary([](const Array& a, const Array& q) { return special::gammainccinv(a, q); }, 1e-12)},
      {"betaincinv", one([](auto&, auto x) { return special::betaincinv(x[0], x[1], x[2]); }, 1e-12)},
      {"betainccinv", one([](auto&, auto x) { return special::betainccinv(x[0], x[1], x[2]); }, 1e-12)},
  };
}

TEST(ArrayRoom, IncompleteFunctions) { check_file("incomplete", incomplete_functions()); }

// Element by element: the bounds of the header, and 1e-12 for derivatives.
TEST(ArrayRoom, IncompleteFunctionsToTheLastPlaces) {
  const std::map<std::string, double> bounds{{"gammainc", 8}, {"gammaincc", 8}, {"betainc", 60}};
  const Table table = incomplete_functions();
  int derivatives = 0, second = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/array_incomplete.txt")) {
    if (c["y0"].dtype != "f64" || !c.has("ct0") || !bounds.contains(c.name)) continue;
    SCOPED_TRACE(c.name);
    const Function& f = table.at(c.name);
    const Arrays x = golden::inputs_of(c);
    const std::vector<double> got = f.run(c, x)[0].to_vector<double>(), &want = c["y0"].real;
    measure(c, f, as_text(bounds.at(c.name)) + " + 2 abs(log y)");
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double bound = bounds.at(c.name) + 2 * std::fabs(std::log(want[i]));
      EXPECT_LE(std::fabs(got[i] - want[i]) / want[i], bound * 0x1p-52) << i << ": " << want[i];
    }
    const auto pulled = vjp([&](const Arrays& in) { return f.run(c, in); }, x);
    const Arrays gradients = std::get<0>(pulled.second({golden::to_array(c["ct0"])}));
    for (std::size_t k = 0; k < x.size(); ++k) {
      const std::vector<double> g = gradients[k].to_vector<double>(),
                                &exact = c["g" + std::to_string(k)].real;
      for (std::size_t i = 0; i < exact.size(); ++i, ++derivatives)
        EXPECT_LE(std::fabs(g[i] - exact[i]), 1e-12 * std::fabs(exact[i]) + 1e-290)
            << "by argument " << k << ", element " << i << ": " << g[i] << ", not " << exact[i];
    }
    if (!c.has("smooth_to") && !c.text.contains("smooth_to")) continue;
    assert_numerical_gradients([&](const Arrays& in) { return f.run(c, in); }, std::tuple{x}, {.order = 2});
    ++second;
  }
  EXPECT_GE(derivatives, 200);
  EXPECT_EQ(second, 3);
}

// Large parameters, and arguments that are nothing beside them: by finite sums of positive terms.
TEST(ArrayRoom, IncompleteFunctionsFarBelowTheMean) {
  const auto expect = [](double got, long double want, double bound) {
    const auto error = static_cast<double>(std::fabs(got - want) / want);
    EXPECT_LE(error, (bound + 2 * std::fabs(std::log(static_cast<double>(want)))) * 0x1p-52)
        << got << ", not " << static_cast<double>(want);
  };
  for (double x : {2e-9, 1e-5, 0.01, 0.3, 2., 9.}) {
    long double term = std::exp(-static_cast<long double>(x)), sum = 0;  // xᵏ e⁻ˣ / k!
    for (int k = 0; k < 120; term *= static_cast<long double>(x) / ++k)
      if (k >= 20) sum += term;
    expect(special::gammainc(20., x).item<double>(), sum, 20);
  }
  for (double x : {1e-9, 1e-5, 0.003, 0.1, 0.3}) {
    long double choose = 1, sum = 0;  // 49 over k
    for (int k = 0; k <= 49; choose = choose * (49 - k) / (k + 1), ++k)
      if (k >= 20)
        sum += choose * std::pow(static_cast<long double>(x), static_cast<long double>(k)) *
               std::pow(1 - static_cast<long double>(x), static_cast<long double>(49 - k));
    expect(special::betainc(20., 30., x).item<double>(), sum, 60);
    expect(special::betainc(30., 20., 1. - x).item<double>(), 1 - sum, 60);
  }
}

// Element by element: an inverse has the error of the function, as much as that moves it.
TEST(ArrayRoom, InversesToTheLastPlaces) {
  const Table table = incomplete_functions();
  int derivatives = 0, second = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/array_incomplete.txt")) {
    if (c["y0"].dtype != "f64" || !c.has("ct0") || !c.name.ends_with("inv")) continue;
    SCOPED_TRACE(c.name);
    const Function& f = table.at(c.name);
    const Arrays x = golden::inputs_of(c);
    const std::vector<double> got = f.run(c, x)[0].to_vector<double>(), &want = c["y0"].real;
    const std::vector<double>&p = c["x" + std::to_string(x.size() - 1)].real,
          &by_p = c["g" + std::to_string(x.size() - 1)].real, &ct = c["ct0"].real;
    measure(c, f, "that of the function");
    for (std::size_t i = 0; i < want.size(); ++i) {
      const bool upper = (p[i] > 0.5) != c.name.ends_with("ccinv");
      const double small = std::fmin(p[i], 1 - p[i]), slope = std::fabs(by_p[i] / ct[i]);
      double unit = small;
      if (x.size() == 3) {  // near a singularity betainc is 1 less the rest
        const double a = c["x0"].real[i], b = c["x1"].real[i], z = want[i];
        if (upper ? a < 1 && z * b < 3 : b < 1 && (1 - z) * a < 3) unit = 1;
      }
      const double bound = (60 + 2 * std::fabs(std::log(small))) * unit * slope / want[i] + 2;
      EXPECT_LE(std::fabs(got[i] - want[i]), bound * 0x1p-52 * want[i])
          << i << ": " << p[i] << ", " << want[i];
    }
    const auto pulled = vjp([&](const Arrays& in) { return f.run(c, in); }, x);
    const Arrays gradients = std::get<0>(pulled.second({golden::to_array(c["ct0"])}));
    for (std::size_t k = 0; k < x.size(); ++k) {
      const std::vector<double> g = gradients[k].to_vector<double>(),
                                &exact = c["g" + std::to_string(k)].real;
      for (std::size_t i = 0; i < exact.size(); ++i, ++derivatives)
        EXPECT_LE(std::fabs(g[i] - exact[i]), 1e-11 * std::fabs(exact[i]))
            << "by argument " << k << ", element " << i << ": " << g[i] << ", not " << exact[i];
    }
    if (!c.text.contains("smooth_to")) continue;
    assert_numerical_gradients([&](const Arrays& in) { return f.run(c, in); }, std::tuple{x}, {.order = 2});
    ++second;
  }
  EXPECT_GE(derivatives, 250);
  EXPECT_EQ(second, 4);
}

// From 1e-4 to 1e6, and from 1e-300 to 1/2: what is found has the probability that was wanted.
TEST(ArrayRoom, InversesAreInverse) {
  const auto powers = [](double from, double to, int n) { return logspace(from, to, n); };
  const Array a = expand_dims(powers(-4, 6, 21), 1), p = powers(-300, -0.31, 40);
  const auto expect = [&](const Array& back, const Array& x, const Array& steep) {
    const Array told = x > 1e-280;  // elsewhere x has underflowed
    const Array bound = (60. - 2. * log(p) + 4. * steep) * 0x1p-52;
    EXPECT_TRUE(all(isfinite(x) && (!told || abs(back / p - 1.) <= bound)).item<bool>())
        << to_string(where(told, abs(back / p - 1.) / bound, 0.));
    EXPECT_GT(mean(astype(told, f64)).item<double>(), 0.3);
  };
  const Array low = special::gammaincinv(a, p), high = special::gammainccinv(a, p);
  expect(special::gammainc(a, low), low, maximum(a, low));
  expect(special::gammaincc(a, high), high, maximum(a, high));
  for (double b : {0.01, 0.7, 3., 400., 1e5}) {
    const Array x = special::betaincinv(a, b, p), y = special::betainccinv(a, b, p);
    const Array left = where(x <= 0.5, x, 0.);  // elsewhere 1 - x has lost digits
    expect(where(left > 0, special::betainc(a, b, left), p), where(left > 0, left, 1.), a + b);
    EXPECT_LE(max(abs(y - (1. - special::betaincinv(b, a, p)))).item<double>(), 0x1p-52);
  }
}

TEST(ArrayRoom, Draws) {
  auto dtype = [](const Case& c) { return golden::dtype_named(c.text.at("dtype")); };
  auto shape = [](const Case& c) { return dims(c, "shape"); };
#define APSIS_DRAW(name, ...) \
  {#name,                     \
   one([=](auto& c, auto x) { return random::name(x[0], __VA_ARGS__, shape(c), dtype(c)); }, 1e-13, 4e-6)}
  Table table{
      APSIS_DRAW(gamma, x[1]),
      APSIS_DRAW(loggamma, x[1]),
      APSIS_DRAW(beta, x[1], x[2]),
      APSIS_DRAW(dirichlet, x[1]),
      APSIS_DRAW(chisquare, x[1]),
      APSIS_DRAW(f, x[1], x[2]),
      APSIS_DRAW(t, x[1]),
      APSIS_DRAW(generalized_normal, x[1]),
      APSIS_DRAW(binomial, x[1], x[2]),
      APSIS_DRAW(multinomial, x[1], x[2]),
      APSIS_DRAW(ball, number(c, "d"), std::stod(c.text.at("p"))),
      {"poisson", one([=](auto& c, auto x) { return random::poisson(x[0], x[1], shape(c)); }, 0)},
      {"multivariate_normal",
       one([=](auto& c,
               auto x) { return random::multivariate_normal(x[0], x[1], x[2], {.shape = shape(c)}); },
           1e-13, 4e-6)},
      {"orthogonal", one(
                         [=](auto& c, auto x) {
                           return random::orthogonal(
                               x[0], number(c, "n"),
                               {.shape = shape(c), .m = number(c, "m"), .dtype = dtype(c)});
                         },
                         1e-13, 4e-6)},
      {"choice", one(
                     [=](auto& c, auto x) {
                       return random::choice(x[0], x[1], shape(c),
                                             {.replace = flag(c, "replace"),
                                              .p = x.size() > 2 ? x[2] / sum(x[2]) : Array(),
                                              .axis = static_cast<int>(number(c, "axis"))});
                     },
                     0)},
  };
#undef APSIS_DRAW
  check_file("draws", table);
}

// The derivative of a draw by its parameter is that of the quantile function, and so are its own derivatives.
TEST(ArrayRoom, DrawsHaveImplicitDerivatives) {
  const Array key = random::key(5), a = array({0.3, 1.5, 8.});
  const auto draw = [&](const Array& p) { return random::gamma(key, p); };
  const auto along = [&](const Array& p) { return jvp(draw, p, ones_like(p)).second; };
  const Array y = draw(a), slope = along(a), curvature = jvp(along, a, ones_like(a)).second;
  const auto quantile = [&](double by) {  // Newton's method from the draw on
    const Array level = special::gammainc(a, y), p = a + by;
    Array x = y + slope * by;
    for (int i = 0; i < 4; ++i)
      x = x - (special::gammainc(p, x) - level) /
                  jvp([&](const Array& z) { return special::gammainc(p, z); }, x, ones_like(x)).second;
    return x;
  };
  const double h = 1e-4;
  const Array up = quantile(h), down = quantile(-h);
  const auto first = ((up - down) / (2 * h)).to_vector<double>(),
             second = ((up - 2. * y + down) / (h * h)).to_vector<double>();
  const auto got = slope.to_vector<double>(), bent = curvature.to_vector<double>();
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], first[i], 1e-6 * std::fabs(first[i])) << i;          // h²
    EXPECT_NEAR(bent[i], second[i], 1e-5 * (1 + std::fabs(first[i]))) << i;  // rounding / h²
  }
  const Array reverse = grad([&](const Array& p) { return sum(along(p)); })(a);
  const auto back = reverse.to_vector<double>();
  for (std::size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], bent[i], 1e-10 * std::fabs(bent[i]));
}

constexpr std::int64_t draws = 20000;

/// √n times the largest distance of the empirical distribution function from u's, which is uniform.
double kolmogorov(const Array& u) {
  std::vector<double> x = ravel(u).to_vector<double>();
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto k = static_cast<double>(i);
    most = std::fmax(most, std::fmax((k + 1) / n - x[i], x[i] - k / n));
  }
  return std::sqrt(n) * most;
}

struct Continuous {
  const char* name;
  std::function<Array(const Array& key)> draw;
  std::function<Array(const Array& x)> cdf;
};

Array tail(const Array& x) { return special::ndtr(x); }
/// Of an even density, from the probability of |x|.
Array both_sides(const Array& x, const Array& of_size) { return 0.5 + 0.5 * sign(x) * of_size; }

TEST(ArrayRoom, DistributionsAreWhatTheySay) {
  const Shape n{draws};
  const Array cov = array({{2., 0.6}, {0.6, 0.5}});
  using namespace random;
  const std::vector<Continuous> all{
      {"uniform", [=](auto& k) { return uniform(k, n); }, [](auto& x) { return x; }},
      {"normal", [=](auto& k) { return normal(k, n); }, tail},
      {"truncated_normal", [=](auto& k) { return truncated_normal(k, -1, 2, n); },
       [](auto& x) { return (tail(x) - tail(-1.)) / (tail(2.) - tail(-1.)); }},
      {"exponential", [=](auto& k) { return exponential(k, n); }, [](auto& x) { return -expm1(-x); }},
      {"gumbel", [=](auto& k) { return gumbel(k, n); }, [](auto& x) { return exp(-exp(-x)); }},
      {"cauchy", [=](auto& k) { return cauchy(k, n); },
       [](auto& x) { return 0.5 + atan(x) / std::acos(-1.); }},
      {"laplace", [=](auto& k) { return laplace(k, n); },
       [](auto& x) { return both_sides(x, -expm1(-abs(x))); }},
      {"logistic", [=](auto& k) { return random::logistic(k, n); }, [](auto& x) { return sigmoid(x); }},
      {"lognormal", [=](auto& k) { return lognormal(k, 0.7, n); },
       [](auto& x) { return tail(log(x) / 0.7); }},
      {"maxwell", [=](auto& k) { return maxwell(k, n); },
       [](auto& x) { return special::gammainc(1.5, x * x / 2.); }},
      {"double_sided_maxwell", [=](auto& k) { return double_sided_maxwell(k, 1., 2., n); },
       [](auto& x) { return both_sides(x - 1., special::gammainc(1.5, square((x - 1.) / 2.) / 2.)); }},
      {"pareto", [=](auto& k) { return pareto(k, 2.5, n); }, [](auto& x) { return 1. - pow(x, -2.5); }},
      {"rayleigh", [=](auto& k) { return rayleigh(k, 1.5, n); },
       [](auto& x) { return -expm1(-square(x / 1.5) / 2.); }},
      {"triangular", [=](auto& k) { return triangular(k, 0., 0.25, 1., n); },
       [](auto& x) { return where(x < 0.25, x * x / 0.25, 1. - square(1. - x) / 0.75); }},
      {"wald", [=](auto& k) { return wald(k, 1.5, n); },
       [](auto& x) {
         const Array r = rsqrt(x);
         return tail(r * (x / 1.5 - 1.)) + std::exp(2 / 1.5) * tail(-r * (x / 1.5 + 1.));
       }},
      {"weibull_min", [=](auto& k) { return weibull_min(k, 2., 1.5, n); },
       [](auto& x) { return -expm1(-pow(x / 2., 1.5)); }},
      {"gamma", [=](auto& k) { return gamma(k, 0.4, n); }, [](auto& x) { return special::gammainc(0.4, x); }},
      {"gamma of a large number", [=](auto& k) { return gamma(k, 70., n); },
       [](auto& x) { return special::gammainc(70., x); }},
      {"loggamma", [=](auto& k) { return loggamma(k, 0.02, n); },
       // x may vanish, and P is then exp(a log x - log Γ(a + 1)) to the last place
       [](auto& x) {
         return where(x < -50., exp(0.02 * x - std::lgamma(1.02)), special::gammainc(0.02, exp(x)));
       }},
      {"beta", [=](auto& k) { return beta(k, 0.6, 2.5, n); },
       [](auto& x) { return special::betainc(0.6, 2.5, x); }},
      {"chisquare", [=](auto& k) { return chisquare(k, 3., n); },
       [](auto& x) { return special::gammainc(1.5, x / 2.); }},
      {"f", [=](auto& k) { return f(k, 3., 5., n); },
       [](auto& x) { return special::betainc(1.5, 2.5, 3. * x / (3. * x + 5.)); }},
      {"t", [=](auto& k) { return t(k, 2.5, n); },
       [](auto& x) { return both_sides(x, special::betainc(0.5, 1.25, x * x / (2.5 + x * x))); }},
      {"generalized_normal", [=](auto& k) { return generalized_normal(k, 1.5, n); },
       [](auto& x) { return both_sides(x, special::gammainc(1 / 1.5, pow(abs(x), 1.5))); }},
      {"dirichlet",
       [=](auto& k) {
         return dirichlet(k, array({0.5, 2., 1.}), n)(ellipsis, 1);
       },
       [](auto& x) { return special::betainc(2., 1.5, x); }},
      {"ball", [=](auto& k) { return sum(square(ball(k, 3, 2., n)), {.axis = -1}); },
       [](auto& x) { return pow(x, 1.5); }},
      {"multivariate_normal",
       [=](auto& k) {
         return multivariate_normal(k, array({1., -1.}), cov, {.shape = n, .factor = CovarianceFactor::Eigh})(
             ellipsis, 0);
       },
       [](auto& x) { return tail((x - 1.) / std::sqrt(2.)); }},
      {"multivariate_normal, a sum",
       [=](auto& k) {
         return sum(
             multivariate_normal(k, array({1., -1.}), cov, {.shape = n, .factor = CovarianceFactor::Svd}),
             {.axis = -1});
       },
       [](auto& x) { return tail(x / std::sqrt(3.7)); }},
      {"complex normal, real part", [=](auto& k) { return real(normal(k, n, c128)); },
       [](auto& x) { return tail(x * std::sqrt(2.)); }},
      {"complex normal, imaginary part", [=](auto& k) { return imag(normal(k, n, c128)); },
       [](auto& x) { return tail(x * std::sqrt(2.)); }},
      {"complex normal, size", [=](auto& k) { return square(abs(normal(k, n, c128))); },
       [](auto& x) { return -expm1(-x); }},
      {"complex normal, angle", [=](auto& k) { return angle(normal(k, n, c128)); },
       [](auto& x) { return 0.5 + x / (2 * std::numbers::pi); }},
      {"orthogonal", [=](auto& k) { return square(orthogonal(k, 3, {.shape = n})(ellipsis, 0, 1)); },
       [](auto& x) { return special::betainc(0.5, 1., x); }},
  };
  for (std::size_t i = 0; i < all.size(); ++i)  // beyond 1.95 once in a thousand
    EXPECT_LT(kolmogorov(all[i].cdf(all[i].draw(key(static_cast<std::int64_t>(i))))), 1.95) << all[i].name;
}

/// Σ (found - expected)² / expected over values 0 … probabilities.size() - 1, and what is left; less its
/// mean, in standard deviations.
double chi_square(const Array& x, const std::vector<double>& probabilities) {
  const std::vector<double> values = ravel(x).to_vector<double>();
  const auto n = static_cast<double>(values.size());
  std::vector<double> found(probabilities.size() + 1, 0.), expected = probabilities;
  expected.push_back(1);
  for (double p : probabilities) expected.back() -= p;
  for (double v : values) {
    const bool inside = v >= 0 && v < static_cast<double>(probabilities.size());
    ++found[inside ? static_cast<std::size_t>(v) : probabilities.size()];
  }
  double total = 0, cells = -1;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (expected[i] * n < 1e-6) {
      EXPECT_EQ(found[i], 0) << i;
      continue;
    }
    total += (found[i] - expected[i] * n) * (found[i] - expected[i] * n) / (expected[i] * n);
    ++cells;
  }
  return (total - cells) / std::sqrt(2 * cells);
}

std::vector<double> poisson_of(double rate, int count) {
  std::vector<double> p;
  for (int k = 0; k < count; ++k) p.push_back(std::exp(k * std::log(rate) - rate - std::lgamma(k + 1.)));
  return p;
}
std::vector<double> binomial_of(double n, double q) {
  std::vector<double> p;
  for (double k = 0; k <= n; ++k)
    p.push_back(std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(q) +
                         (n - k) * std::log1p(-q)));
  return p;
}

TEST(ArrayRoom, CountsAreWhatTheySay) {
  using namespace random;
  const Shape n{draws};
  const Array p = array({0.1, 0.2, 0.3, 0.4});
  const std::vector<double> four{0.1, 0.2, 0.3, 0.4};
  struct Counts {
    const char* name;
    Array drawn;
    std::vector<double> probabilities;
  };
  std::vector<double> tries{0};
  for (int k = 1; k < 20; ++k) tries.push_back(0.3 * std::pow(0.7, k - 1));
  const std::vector<Counts> all{
      {"poisson 3", poisson(key(1), 3., n), poisson_of(3, 12)},
      {"poisson 25", poisson(key(2), 25., n), poisson_of(25, 50)},
      {"binomial by gaps", binomial(key(3), 12., 0.3, n), binomial_of(12, 0.3)},
      {"binomial by rejection", binomial(key(4), 60., 0.7, n), binomial_of(60, 0.7)},
      {"multinomial", multinomial(key(5), 9., p, {draws, 4})(ellipsis, 1), binomial_of(9, 0.2)},
      {"geometric", geometric(key(6), 0.3, n), tries},
      {"bernoulli", bernoulli(key(7), 0.3, n), {0.7, 0.3}},
      {"rademacher", rademacher(key(8), n) + 1, {0.5, 0, 0.5}},
      {"categorical", categorical(key(9), log(p), 0, n), four},
      {"randint", randint(key(10), n, 0, 5), {0.2, 0.2, 0.2, 0.2, 0.2}},
      {"choice", choice(key(11), array({0., 1., 2., 3.}), n, {.p = p}), four},
      {"permutation",
       vmap([](const Array& k) { return permutation(k, 5)[2]; })(random::split(key(12), draws)),
       {0.2, 0.2, 0.2, 0.2, 0.2}},
      // The first without replacement has its probability, and the second that of all orders.
      {"choice without replacement",
       vmap([=](const Array& k) {
         return choice(k, array({0., 1., 2.}), {2}, {.replace = false, .p = array({0.5, 0.25, 0.25})})[1];
       })(random::split(key(13), draws)),
       {1. / 3, 1. / 3, 1. / 3}},
  };
  for (const Counts& c : all)  // a tail of the normal distribution's kind, somewhat heavier
    EXPECT_LT(chi_square(c.drawn, c.probabilities), 3.7) << c.name;
}

TEST(ArrayRoom, DrawsOfBadParameters) {
  const Array key = random::key(0);
  EXPECT_TRUE(all(isnan(random::gamma(key, array({-1., -0.5, std::nan("")})))).item<bool>());
  EXPECT_TRUE(all(isnan(random::loggamma(key, array({-1., std::nan("")})))).item<bool>());
  EXPECT_EQ(random::gamma(key, 0.).item<double>(), 0);
  EXPECT_TRUE(std::isinf(random::gamma(key, INFINITY).item<double>()));
  EXPECT_EQ(random::poisson(key, INFINITY).item<std::int64_t>(), -1);
  EXPECT_TRUE(std::isnan(random::binomial(key, 5., 1.5).item<double>()));
  EXPECT_EQ(random::gamma(key, array({1., 2.}), {0, 2}).shape(), (Shape{0, 2}));
  EXPECT_EQ(random::choice(key, array({1., 2.}), Shape{0}, random::ChoiceOptions{}).shape(), Shape{0});
  EXPECT_EQ(random::orthogonal(key, 0, {.shape = {2}}).shape(), (Shape{2, 0, 0}));
  EXPECT_THROW(random::orthogonal(key, 2, {.m = -5}), Error);
}

}  // namespace
}  // namespace apsis::testing
