// Values that refuse a transformation, and neighbours of floats.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const Array xs = array({1., 2., 3.});

/// The id of what `f` throws; "" if nothing.
template <class F>
std::string thrown(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.id();
  }
  return "";
}

TEST(Forbid, RefusesOneTransformation) {
  auto each = [](const auto& mark) { return [mark](const Array& x) { return sum(mark(x) * x); }; };
  auto no_slope = each([](const Array& x) { return nondifferentiable(x, "own"); });
  auto no_reverse = each([](const Array& x) { return nondifferentiable_backward(x, "own"); });
  auto no_lanes = each([](const Array& x) { return nonbatchable(x, "own"); });
  auto no_trace = each([](const Array& x) { return nontraceable(x, "own"); });
  auto check = [](const auto& f, bool forward, bool reverse, bool lanes, bool traced) {
    expect_near(f(xs), array(14.));
    EXPECT_EQ(thrown([&] { jvp(f, xs, xs); }), forward ? "" : "forbidden");
    EXPECT_EQ(thrown([&] { grad(f)(xs); }), reverse ? "" : "forbidden");
    EXPECT_EQ(thrown([&] { vmap(f)(stack({xs, xs})); }), lanes ? "" : "forbidden");
    EXPECT_EQ(thrown([&] { jit(f)(xs); }), traced ? "" : "forbidden");
    if (traced) expect_near(jit(f)(xs), array(14.));
    if (reverse) expect_near(grad(f)(xs), 2. * xs);
  };
  check(no_slope, false, false, true, true);
  check(no_reverse, true, false, true, true);
  check(no_lanes, true, true, false, true);
  check(no_trace, true, true, true, false);
  // Only what depends on the input is refused.
  expect_near(grad([](const Array& x) { return sum(x * nondifferentiable(xs, "own")); })(xs), xs);
}

TEST(NextAfter, StepsToTheNeighbour) {
  auto check = [](auto zero) {
    using T = decltype(zero);
    using L = std::numeric_limits<T>;
    for (T x :
         {T(1), T(-1), T(3.7), T(-1e-3), L::max(), -L::max(), L::lowest(), L::infinity(), T(-2) * L::min()}) {
      EXPECT_EQ(nextafter(array(x)).template item<T>(), std::nextafter(x, L::infinity())) << x;
      EXPECT_EQ(prevbefore(array(x)).template item<T>(),
                x == L::infinity() ? L::max() : std::nextafter(x, -L::infinity()))
          << x;
      EXPECT_EQ(jit([](const Array& a) { return nextafter(a); })(array(x)).template item<T>(),
                std::nextafter(x, L::infinity()));
    }
    EXPECT_EQ(nextafter(array(zero)).template item<T>(), L::min());
    EXPECT_EQ(prevbefore(array(zero)).template item<T>(), -L::min());
    EXPECT_EQ(nextafter(array(-zero)).template item<T>(), L::min());
    EXPECT_TRUE(std::isnan(nextafter(array(L::quiet_NaN())).template item<T>()));
  };
  check(0.f);
  check(0.);
  expect_near(grad([](const Array& x) { return sum(nextafter(x) * prevbefore(x)); })(xs), 2. * xs);
}

}  // namespace
}  // namespace apsis::testing
