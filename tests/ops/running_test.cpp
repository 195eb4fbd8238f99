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

// What no branch has chosen leaves no trace, nor does what follows it in the order of the run.
TEST(Running, InfinitiesThatAreNotChosen) {
  const Array x = array({2., 3., inf, 5.});
  const auto chosen = [](auto running) {
    return [running](const Array& v) { return sum(where(arange(4) < 2, running(v), 0.)); };
  };
  const auto expect = [](const auto& f, const Array& at, const Array& want) {
    expect_near(grad(f)(at), want);
    expect_near(jit(grad(f))(at), want);
    expect_near(jit(vmap(grad(f)))(stack({at, at})), stack({want, want}));
    const auto second = [&](const Array& v) { return jvp(grad(f), v, ones_like(v)).second; };
    EXPECT_TRUE(all(isfinite(jit(second)(at))).template item<bool>());
  };
  const auto product = [](const Array& v) { return cumprod(v, {.axis = 0}); };
  const auto back = [](const Array& v) { return flip(cumprod(flip(v), {.axis = 0, .reverse = true})); };
  expect(chosen(product), x, array({4., 2., 0., 0.}));
  expect(chosen(back), x, array({4., 2., 0., 0.}));
  expect(chosen([](const Array& v) { return cummax(1. / v, {.axis = 0}); }), array({-1., 2., 0., 0.}),
         array({-1., -0.25, 0., 0.}));
}

// By another formula: the products from an element on, each with its weight, divided by the element.
TEST(Running, GradientsOfLongProducts) {
  for (const bool reverse : {false, true})
    for (const std::int64_t columns : {1, 300}) {
      const std::int64_t rows = 700;
      const Array x = reshape(1. + 0.01 * sin(arange(1. * rows * columns)), {rows, columns});
      const Array weights = reshape(cos(arange(1. * rows * columns)), {rows, columns});
      const CumulativeOptions along{.axis = 0, .reverse = reverse};
      const auto f = [&](const Array& v) { return sum(weights * cumprod(v, along)); };
      const Array terms = weights * cumprod(x, along);
      const Array want = cumsum(terms, {.axis = 0, .reverse = !reverse}) / x;
      // Each of the 700 factors and terms rounds once or twice.
      const double far = max(abs(jit(grad(f))(x) - want)).item<double>();
      EXPECT_LE(far, 4 * rows * 0x1p-53 * sum(abs(terms), {.axis = 0}).to_vector<double>()[0] * 2);
      expect_near(grad(f)(x), jit(grad(f))(x));
    }
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
