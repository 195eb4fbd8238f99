// Powers whose exponent is an integer array, known or not: xⁿ is a polynomial, and so are all its
// derivatives.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

using Function = std::function<Array(const Array&)>;

/// The derivative of order k of xⁿ: exact for the numbers used here.
double exact(double x, int n, int k) {
  double factor = 1;
  for (int i = 0; i < k; ++i) factor *= n - i;
  return factor == 0 ? 0 : factor * std::pow(x, n - k);
}

Function derivative(const Function& f, bool forward) {
  if (forward) return [f](const Array& x) { return jvp(f, x, ones_like(x)).second; };
  return [f](const Array& x) { return grad(f)(x); };
}

void expect_all_modes(const Function& f, double at, const std::vector<double>& wanted) {
  for (int modes = 0; modes < 8; ++modes) {
    SCOPED_TRACE("at " + std::to_string(at) + ", forward where the bit is set: " + std::to_string(modes));
    Function d = f;
    for (std::size_t order = 0; order < 3; ++order) {
      d = derivative(d, modes >> order & 1);
      const Array want = array(wanted[order]);
      expect_near(d(array(at)), want);
      expect_near(jit(d)(array(at)), want);
      expect_near(vmap(d)(array({at, at})), stack({want, want}));
    }
  }
}

TEST(Power, IntegerArraysAsExponents) {
  for (double at : {-2., -1., 0., 1., 3.})
    for (int n = at == 0. ? 0 : -2; n <= 4; ++n) {
      SCOPED_TRACE("n = " + std::to_string(n));
      const std::vector<double> wanted{exact(at, n, 1), exact(at, n, 2), exact(at, n, 3)};
      const Array known = array(std::int64_t(n)), floating = array(double(n)),
                  narrow = array(std::int32_t(n));
      expect_all_modes([=](const Array& x) { return pow(x, known); }, at, wanted);
      expect_all_modes([=](const Array& x) { return pow(x, floating); }, at, wanted);
      expect_all_modes([=](const Array& x) { return pow(x, narrow); }, at, wanted);
      expect_all_modes([=](const Array& x) { return pow(x, n); }, at, wanted);
    }
}

TEST(Power, ExponentsThatAreTraced) {
  for (int n = 0; n <= 4; ++n) {
    const Array exponent = array(n), x = array({-2., 0., 3.});
    auto slope = [](const Array& v, const Array& k) {
      return vmap(grad([&](const Array& u) { return pow(u, k); }))(v);
    };
    const Array want = array({exact(-2., n, 1), exact(0., n, 1), exact(3., n, 1)});
    expect_near(slope(x, exponent), want);
    expect_near(jit(slope)(x, exponent), want);
    auto lanes =
        jit(vmap(grad([](const Array& u, const Array& k) { return pow(u, k); }), {.in_axes = {{}, 0}}));
    expect_near(lanes(array(0.), array({0, 1, 2})), array({0., 1., 0.}));
  }
}

// A polynomial as one writes it.
TEST(Power, Polynomials) {
  const Array c = array({5., 7., 11.});
  auto polynomial = [=](const Array& x) { return sum(c * pow(x, arange(3))); };
  for (double at : {0., -1.5, 2.}) {
    expect_all_modes(polynomial, at, {7. + 22. * at, 22., 0.});
    expect_near(hessian(polynomial)(array(at)), array(22.));
    expect_near(jit(hessian(polynomial))(array(at)), array(22.));
    const auto series = jet(polynomial, array(at), {array(1.), array(0.)}).second;
    expect_near(series[0], array(7. + 22. * at));
    expect_near(series[1], array(22.));
  }
  // By the coefficients and the point together.
  auto both = [](const Array& k, const Array& x) { return sum(k * pow(x, arange(3))); };
  expect_near(grad<0, 1>(both)(c, array(0.)), std::tuple{array({1., 0., 0.}), array(7.)});
  expect_near(jit(hessian<0, 1>(both))(c, array(0.)).matrix(),
              array({{0., 0., 0., 0.}, {0., 0., 0., 1.}, {0., 0., 0., 0.}, {0., 1., 0., 22.}}));
}

// What is infinite stays so: roots at 0, negative powers at 0.
TEST(Power, SingularAtZero) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  auto slope = [](double y) {
    auto f = [y](const Array& x) { return pow(x, array(y)); };
    const double eager = grad(f)(array(0.)).item<double>();
    EXPECT_EQ(jit(grad(f))(array(0.)).item<double>(), eager) << y;
    EXPECT_EQ(jvp(f, array(0.), array(1.)).second.item<double>(), eager) << y;
    return eager;
  };
  EXPECT_EQ(slope(0.5), inf);
  EXPECT_EQ(slope(-1.), -inf);
  EXPECT_EQ(slope(1.5), 0.);
  EXPECT_EQ(slope(1.), 1.);
  EXPECT_EQ(slope(0.), 0.);
}

// The derivative by the exponent, and the mixed one, are those of y there too: at y = 0, x⁻¹ and log x.
TEST(Power, ByTheExponent) {
  auto f = [](const Array& x, const Array& y) { return pow(x, y); };
  const Array x = array(2.), y = array(0.);
  expect_near(grad<1>(f)(x, y), array(std::log(2.)));
  expect_near(grad(grad<1>(f))(x, y), array(0.5));
  expect_near(grad<1>(grad(f))(x, y), array(0.5));
  expect_near(jit(grad<1>(grad(f)))(x, y), array(0.5));
}

}  // namespace
}  // namespace apsis::testing
