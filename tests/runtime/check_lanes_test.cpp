// Checks under vmap name the lane that failed, whether they are made before the function is mapped or after;
// in compiled code and in the evaluator.

#include <gtest/gtest.h>

#include "errors/error_of.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// What is said of a checked program, by its machine code and by the evaluator: one text.
template <class F, class... A>
std::string said_of(const F& checked, const A&... args) {
  const std::string compiled = error_of([&] { checked(args...); });
  const detail::InterpretScope reference;
  EXPECT_EQ(error_of([&] { checked(args...); }), compiled);
  return compiled;
}

constexpr JitOptions all_checks{.checks = Checks::all()};

/// `mapped(f)` maps f, once or more. Both orders of mapping and checking say `text`, without compilation too.
template <class Map, class F, class... A>
void expect_said(const std::string& text, const Map& mapped, const F& f, const A&... args) {
  const auto after = jit(mapped(f), all_checks);
  const auto before = jit(mapped(jit(f, all_checks)));
  EXPECT_EQ(said_of(after, args...), text) << "checked after it is mapped";
  EXPECT_EQ(said_of(before, args...), text) << "checked before it is mapped";
  const DisableJit as_they_are;
  EXPECT_EQ(error_of([&] { after(args...); }), text) << "run as it is";
  EXPECT_EQ(error_of([&] { before(args...); }), text) << "run as it is";
}

const auto once = [](const auto& f) { return vmap(f); };
const auto twice = [](const auto& f) { return vmap(vmap(f)); };

const std::string nan_of_log = "[checks] `log` made a NaN of operands that have none";

TEST(CheckLanes, NanInOneOfThem) {
  const auto f = [](const Array& x) { return exp(log(x * 2.) + 1.); };
  expect_said("", once, f, array({1., 2., 3.}));
  expect_said(nan_of_log + " (1 of 3 lanes failed, the first is lane 2)", once, f, array({1., 2., -3.}));
  expect_said(nan_of_log + " (2 of 40 lanes failed, the first is lane 17)", once, f,
              ones({40}).at(17).set(-1.).at(30).set(-2.));
  // Of vectors.
  expect_said(nan_of_log + " (1 of 3 lanes failed, the first is lane 1)", once, f,
              ones({3, 20}).at(1, 19).set(-1.));
}

TEST(CheckLanes, OfVmapsWithinVmaps) {
  const auto f = [](const Array& x) { return sum(sqrt(log(x))); };
  Array x = full({4, 3, 20}, 2.);
  expect_said("", twice, f, x);
  expect_said(nan_of_log + " (1 of 12 lanes failed, the first is lane 3,1)", twice, f,
              x.at(3, 1, 7).set(-1.));
  // The outer vmap maps the last axis of the argument, the inner one the first.
  const auto turned = [](const auto& g) { return vmap(vmap(g, {.in_axes = {0}}), {.in_axes = {2}}); };
  expect_said(nan_of_log + " (1 of 80 lanes failed, the first is lane 7,3)", turned, f,
              x.at(3, 1, 7).set(-1.));
  // A value that the outer lanes share has the inner ones alone.
  const auto shared = [](const Array& a, const Array& b) {
    return vmap([&](const Array& u) { return vmap([&](const Array& v) { return u + log(v); })(b); })(a);
  };
  EXPECT_EQ(said_of(jit(shared, all_checks), ones({2}), array({1., 1., -1.})),
            nan_of_log + " (1 of 3 lanes failed, the first is lane 2)");
}

TEST(CheckLanes, WhoseNanItWas) {
  const double nan = std::nan("");
  const auto f = [](const Array& x, const Array& y) { return x * y; };
  // In the second lane infinity times zero; the NaN that came in is another lane's.
  const auto text = [&](double a, double b, double c, double d) {
    return said_of(jit(vmap(f), all_checks), array({a, b}), array({c, d}));
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      text(1., inf, 1., 0.),
      "[checks] `mul` made a NaN of operands that have none (1 of 2 lanes failed, the first is lane 1)");
  EXPECT_EQ(text(1., nan, 1., 0.),
            "[checks] `mul` computed with a NaN that came in from outside (1 of 2 lanes failed, the first is "
            "lane 1)");
  EXPECT_EQ(
      text(inf, nan, 0., 0.),
      "[checks] `mul` made a NaN of operands that have none (2 of 2 lanes failed, the first is lane 0)");
}

TEST(CheckLanes, Divisions) {
  const auto f = [](const Array& x) { return 1. / (x - 1.); };
  expect_said("[checks] `div` divides by zero (1 of 3 lanes failed, the first is lane 1)", once, f,
              array({2., 1., 0.}));
  const auto rest = [](const Array& a, const Array& b) { return a % b; };
  const auto by_rows = [](const auto& g) {
    return vmap(vmap(g, {.in_axes = {0, {}}}), {.in_axes = {{}, 0}});
  };
  // The outer vmap maps the divisor alone: checked in a lane it is the same for the inner lanes.
  const Array dividends = array({5, 6, 7}), divisors = array({2, 0});
  EXPECT_EQ(said_of(jit(by_rows(rest), all_checks), dividends, divisors),
            "[checks] `rem` divides by zero (3 of 6 lanes failed, the first is lane 1,0)");
  EXPECT_EQ(said_of(by_rows(jit(rest, all_checks)), dividends, divisors),
            "[checks] `rem` divides by zero (1 of 2 lanes failed, the first is lane 1)");
}

TEST(CheckLanes, Indices) {
  const Array table = linspace(0., 1., 50);
  const auto from_shared = [&](const Array& i) { return table[i]; };
  const std::string range =
      "has an index out of range: they go from 70 to 70, allowed is 0 to 49, along axis 0";
  // A slice of one lane is a gather for all.
  const auto said = [&](const auto& f, auto... args) { return said_of(jit(f, all_checks), args...); };
  EXPECT_EQ(said(vmap(from_shared), array({7, 70, 8})),
            "[checks] `gather` " + range + " (1 of 3 lanes failed, the first is lane 1)");
  EXPECT_EQ(said(vmap(vmap(from_shared)), array({{7, 8}, {9, 10}, {70, 1}})),
            "[checks] `gather` " + range + " (1 of 6 lanes failed, the first is lane 2,0)");
  // Each lane has a table of its own, and an index or several.
  const auto from_own = [](const Array& t, const Array& i) { return t[i]; };
  const Array tables = ones({3, 50});
  EXPECT_EQ(said(vmap(from_own), tables, array({7, 8, 70})),
            "[checks] `gather` " + range + " (1 of 3 lanes failed, the first is lane 2)");
  EXPECT_EQ(
      said(vmap(from_own), tables, array({{7, 8}, {70, 1}, {1, 2}})),
      "[checks] `gather` has an index out of range: they go from 1 to 70, allowed is 0 to 49, along axis 0 "
      "(1 of 3 lanes failed, the first is lane 1)");
  const auto set = [](const Array& t, const Array& i) { return t.at(i).set(0.); };
  const auto names_lane_2 = [&](const std::string& text) {
    return text.ends_with(range + " (1 of 3 lanes failed, the first is lane 2)");
  };
  EXPECT_PRED1(names_lane_2, said(vmap(set), tables, array({7, 8, 70})));
  const auto add = [](const Array& t, const Array& i) { return t.at(i).add(1.); };
  EXPECT_PRED1(names_lane_2, said(vmap(add), tables, array({{7, 8}, {2, 1}, {70, 70}})));
  // One index for all lanes fails for none in particular; the axis is counted in a lane.
  EXPECT_EQ(
      said([&](const Array& t, const Array& i) { return vmap([&](const Array& own) { return own[i]; })(t); },
           tables, array(70)),
      "[checks] `dynamic_slice` " + range);
}

TEST(CheckLanes, InDerivatives) {
  // The value is there, the derivative is not: zero times infinity.
  const auto f = [](const Array& x) { return x * sqrt(x); };
  const Array x = array({4., 1., 0.});
  const std::string lane = " (1 of 3 lanes failed, the first is lane 2)";
  const auto ends_with_lane = [&](const std::string& text) {
    return text.starts_with("[checks] `") && text.ends_with(lane);
  };
  EXPECT_PRED1(ends_with_lane, said_of(jit(vmap(grad(f)), all_checks), x));
  EXPECT_PRED1(ends_with_lane,
               said_of(jit(grad([&](const Array& v) { return sum(vmap(f)(v)); }), all_checks), x));
  const auto pushed = [&](const Array& v) { return jvp(vmap(f), v, ones({3})).second; };
  EXPECT_PRED1(ends_with_lane, said_of(jit(pushed, all_checks), x));
  EXPECT_PRED1(ends_with_lane, said_of(jit(vmap(grad(grad(f))), all_checks), x));
}

TEST(CheckLanes, InLoops) {
  const auto log_of = [](const Array& x) { return log(x); };
  const auto steps = [&](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array& i, const Array& y) { return y + 0. * log_of(where(i == 2, x, 1.)); }, x);
  };
  const auto scanned = [&](const Array& x) {
    return scan([&](const Array& c, const Array& v) { return std::pair(c + sum(log_of(x * v)), c); }, x[0],
                array({1., 2.}))
        .second;
  };
  const auto until = [&](const Array& x) {
    return while_loop([](const Array& y) { return y < 90.; },
                      [&](const Array& y) { return where(y == y, y + 40., 0. * log_of(y)); }, x);
  };
  const std::string lane = "lane 1)";
  const auto names_lane = [&](const std::string& text) {
    return text.starts_with(nan_of_log) && text.ends_with(lane);
  };
  EXPECT_PRED1(names_lane, said_of(jit(vmap(steps), all_checks), array({1., -1., 2.})));
  EXPECT_PRED1(names_lane, said_of(jit(vmap(until), all_checks), array({1., -1., 2.})));
  EXPECT_PRED1(names_lane, said_of(jit(vmap(scanned), all_checks), ones({3, 200}).at(1, 70).set(-1.)));
  const auto in_lockstep = vmap(until, {.loops = LaneLoops::Lockstep});
  EXPECT_PRED1(names_lane, said_of(jit(in_lockstep, all_checks), array({1., -1., 2.})));
  const auto roots = [&](const Array& x) {
    return scan([&](const Array& c, const Array& v) { return std::pair(c + sum(sqrt(x * v)), c); }, x[0],
                array({1., 2., 3.}))
        .second;
  };
  const auto loss = [&](const Array& v) { return sum(vmap(roots)(v)); };
  EXPECT_EQ(
      said_of(jit(grad(loss), all_checks), ones({3, 200}).at(1, 70).set(-1.)),
      "[checks] `sqrt` made a NaN of operands that have none (1 of 3 lanes failed, the first is lane 1)");
}

TEST(CheckLanes, InCallsOfOtherFunctions) {
  const auto inner = jit([](const Array& x) { return log(x); });
  EXPECT_EQ(said_of(jit(vmap([&](const Array& x) { return inner(x) + 1.; }), all_checks), array({1., -1.})),
            nan_of_log + " (1 of 2 lanes failed, the first is lane 1)");
  const auto whole = jit(vmap([](const Array& x) { return log(x); }));
  EXPECT_EQ(said_of(jit([&](const Array& x) { return whole(x) + 1.; }, all_checks), array({1., -1.})),
            nan_of_log + " (1 of 2 lanes failed, the first is lane 1)");
}

TEST(CheckLanes, WhereFunctionsAreCalledAsTheyAre) {
  // Values are there to be looked at, and each op is checked.
  const auto checked = jit([](const Array& x) { return x > 0. ? log(x - 1.) : 1. / (x + 1.); }, all_checks);
  const DisableJit as_they_are;
  EXPECT_EQ(checked(array(2.)).item<double>(), 0.);
  EXPECT_EQ(error_of([&] { checked(array(0.5)); }), nan_of_log);
  EXPECT_EQ(error_of([&] { checked(array(-1.)); }), "[checks] `div` divides by zero");
  const auto slope = jit(grad([](const Array& x) { return x * sqrt(x); }), all_checks);
  EXPECT_EQ(slope(array(4.)).item<double>(), 3.);
  EXPECT_NE(error_of([&] { slope(array(0.)); }), "");
  const auto steps = jit(vmap([](const Array& x) {
                           return while_loop([](const Array& y) { return y > -3.; },
                                             [](const Array& y) { return y - 1. + 0. * sqrt(y); }, x);
                         }),
                         all_checks);
  EXPECT_NE(error_of([&] { steps(array({2.5, -5.})); }).find("`sqrt` made a NaN"), std::string::npos);
}

TEST(CheckLanes, ABranchFailsForThoseWhoChoseIt) {
  const auto f = [](const Array& x) {
    return cond(
        x > 1., [](const Array& v) { return log(v - 2.); }, [](const Array& v) { return 1. / v; }, x);
  };
  const auto checked = jit(vmap(f), all_checks);
  expect_same_bits(checked(array({3., -5., 5.})), jit(vmap(f))(array({3., -5., 5.})));
  EXPECT_EQ(said_of(checked, array({3., -5., 1.5})), nan_of_log + " (lane 2)");
  EXPECT_EQ(said_of(checked, array({3., 0., 1.5})), "[checks] `div` divides by zero (lane 1)");
  const auto slopes = jit(vmap(grad(f)), all_checks);
  expect_same_bits(slopes(array({3., -5., 5.})), jit(vmap(grad(f)))(array({3., -5., 5.})));
}

}  // namespace
}  // namespace apsis::testing
