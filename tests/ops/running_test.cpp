// Derivatives of running extrema and products where elements are infinite, and the rounding of long sums.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

template <class F>
void expect_gradient(const F& f, const Array& x, const Array& weights, const Array& want) {
  auto weighted = [&](const Array& v) { return vjp(f, v).second(weights); };
  expect_near(std::get<0>(weighted(x)), want);
  expect_near(std::get<0>(jit(weighted)(x)), want);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const Array along = astype(arange(x.size()) == i, f64), column = jvp(f, x, along).second;
    expect_near(sum(column * weights), want[i]);
  }
}

TEST(Running, ExtremaOfInfinities) {
  const Array weights = array({1., 10., 100., 1000., 10000.}), x = array({-inf, -inf, 1., -inf, 2.});
  auto max_of = [](const Array& v) { return cummax(v, {.axis = 0}); };
  auto min_of = [](const Array& v) { return cummin(v, {.axis = 0}); };
  // Equal ones share: the first stands alone at its place, then both have half.
  const Array want = array({6., 5., 1100., 0., 10000.});
  expect_gradient(max_of, x, weights, want);
  expect_gradient(min_of, -x, weights, want);
  auto max_back = [](const Array& v) { return cummax(v, {.axis = 0, .reverse = true}); };
  auto min_back = [](const Array& v) { return cummin(v, {.axis = 0, .reverse = true}); };
  expect_gradient(max_back, flip(x), flip(weights), flip(want));
  expect_gradient(min_back, -flip(x), flip(weights), flip(want));
  expect_gradient(max_of, array({-inf}), array({3.}), array({3.}));
}

TEST(Running, ProductsFromInfinities) {
  auto first = [](const Array& v) { return cumprod(v, {.axis = 0})[0]; };
  auto last = [](const Array& v) { return cumprod(v, {.axis = 0, .reverse = true})[2]; };
  const Array x = array({inf, 2., inf}), along = array({1., 1., 1.});
  expect_near(jvp(first, x, along).second, array(1.));
  expect_near(jit([&](const Array& v) { return jvp(last, v, along).second; })(x), array(1.));
}

// Ten million terms in single precision, of which the first sums up what all others have come to. Added up
// one by one it is off by a fortieth: from the middle on, a term is as large as the rounding of the sum. In
// blocks of 4096 the rounding is that of 4096 additions and 2500.
TEST(Running, SumsOfManyTerms) {
  const std::int64_t n = 10'240'000;
  const Array x = sin(arange(static_cast<double>(n)) * 0.37) + 0.25;
  const auto slope = grad([](const Array& z) { return sum(square(cumsum(z, {.axis = 0}))); });
  for (const auto& found : {slope(astype(x, f32)), jit(slope)(astype(x, f32))}) {
    const double exact = slope(x)[0].item<double>(), got = found[0].item<double>();
    EXPECT_LE(std::abs(got - exact), 6600 * 0x1p-24 * exact);
  }
}

}  // namespace
}  // namespace apsis::testing
