// Trouble 5, continued: what a lambda captured by reference has changed since it was traced.

#include <gtest/gtest.h>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

template <class F>
std::string thrown(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(e.what()).substr(0, std::string(e.what()).find(". What"));
  }
  return "";
}

#ifdef _GLIBCXX_ASSERTIONS
constexpr bool checked_once = true;  // builds with assertions check a program when it is first used again
#else
constexpr bool checked_once = false;
#endif

TEST(CheckCaptures, TellsOfChangedArrays) {
  Array rate = array({0.1, 0.2});
  auto step = jit([&rate](const Array& x) { return x - rate * x; }, {.name = "step"});
  const Array x = array({1., 2.});
  Array first = step(x);
  {
    CheckCaptures check;
    expect_same_bits(step(x), first);
  }
  rate = array({0.1, 0.3});
  if (!checked_once) expect_same_bits(step(x), first);  // silently, as documented
  CheckCaptures check;
  EXPECT_EQ(
      thrown([&] { step(x); }),
      "[step] this function would be another program if it were traced again: the array v1 of its program, "
      "which it uses from outside, was [0.1 0.2] and is [0.1 0.3] now");
  rate = array({0.1, 0.2});
  expect_same_bits(step(x), first);
}

TEST(CheckCaptures, TellsOfChangedNumbersAndPrograms) {
  double rate = 0.5;
  bool twice = false;
  auto step = jit([&](const Array& x) { return twice ? x + x : x * rate; }, {.name = "step"});
  const Array x = array({1., 2.});
  step(x);
  CheckCaptures check;
  step(x);
  rate = 0.25;
  EXPECT_NE(thrown([&] { step(x); }).find("# 0.5` is `"), std::string::npos) << thrown([&] { step(x); });
  rate = 0.5;
  twice = true;
  EXPECT_NE(thrown([&] { step(x); }).find("` is `v1: f64[2] = add(v0, v0)` now"), std::string::npos)
      << thrown([&] { step(x); });
}

TEST(CheckCaptures, CountsNoTraces) {
  auto f = jit([](const Array& x) { return x * 2.; });
  CheckCaptures check;
  for (int i = 0; i < 3; ++i) f(array(1.));
  EXPECT_EQ(f.trace_count(), 1);
  // Nor do those count that are within, or around.
  auto inner = assert_max_traces([](const Array& x) { return x * 3.; }, 1);
  auto outer = assert_max_traces(jit(inner), 1);
  for (int i = 0; i < 3; ++i) outer(array(1.));
  EXPECT_EQ(trace_count(inner), 1);
  EXPECT_EQ(trace_count(outer), 1);
  // A function that uses a traced value from outside is traced whenever that is.
  auto both = jit([](const Array& k) {
    auto times = assert_max_traces([k](const Array& x) { return k * x; }, 1);
    return jit(times)(k + 1.);
  });
  for (int i = 0; i < 3; ++i) both(array(1.));
}

}  // namespace
}  // namespace apsis::testing
