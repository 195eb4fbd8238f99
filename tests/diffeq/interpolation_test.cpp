// Interpolations of data: Diffrax's values, derivatives both ways, lanes, trees, missing data, equations
// driven by them.

#include <cmath>
#include <limits>

#include "diffeq/refused.hpp"
#include "golden/arrays.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using golden::expect_same;
using golden::to_array;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// A path at many times, from one side: values and derivatives.
template <class Path>
auto along(const Path& path, const Array& at, Side side) {
  return jit(vmap([&path, side](const Array& t) {
    return std::pair{path.evaluate(t, side), path.derivative(t, side)};
  }))(at);
}

void check_case(const Case& c) {
  const Array ts = to_array(c["ts"]), ys = to_array(c["ys"]), at = to_array(c["at"]);
  const bool end = c.text.at("end") == "1", single = ys.dtype() == f32;
  const Array start = c.has("start") ? to_array(c["start"]) : Array(),
              deriv0 = c.has("deriv0") ? to_array(c["deriv0"]) : Array();
  // Some roundings, of numbers up to ten times the result; the same formulas in another order.
  const double near = single ? 1e-5 : 1e-13;
  const Array linear = linear_interpolation(ts, ys, {end, start});
  expect_same(linear, c["linear"], near, "linear");
  const auto rectilinear = rectilinear_interpolation(ts, ys, start);
  expect_same(rectilinear.ts, c["rectilinear_ts"], 0, "rectilinear times");
  expect_same(rectilinear.ys, c["rectilinear"], 0, "rectilinear");
  const auto fit = [&](const Array& t, const Array& y) {
    return backward_hermite_coefficients(t, y, {end, start, deriv0});
  };
  const auto cubic = jit(fit)(ts, ys);
  expect_same(cubic.d, c["d"], near, "d");
  expect_same(cubic.c, c["c"], near, "c");
  expect_same(cubic.b, c["b"], near, "b");
  expect_same(cubic.a, c["a"], near, "a");
  const auto check_path = [&](const char* kind, const auto& path) {
    SCOPED_TRACE(kind);
    const std::string name = kind;
    for (const Side side : {Side::Left, Side::Right}) {
      const bool left = side == Side::Left;
      const auto [values, slopes] = along(path, at, side);
      expect_same(values, c[name + (left ? "_values" : "_right")], near, "values");
      expect_same(slopes, c[name + "_slopes" + (left ? "" : "_right")], near, "slopes");
    }
  };
  check_path("linear", LinearInterpolation{ts, linear});
  const CubicInterpolation path{ts, cubic};
  check_path("cubic", path);
  const auto increment = [&](const Array& from, const Array& to) { return path.evaluate(from, to); };
  expect_same(vmap(increment)(at[range({}, -1)], at[range(1, {})]), c["increments"], near, "increments", 1.);
}

TEST(Interpolation, EqualsDiffrax) {
  int cases = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/interpolation.txt")) {
    SCOPED_TRACE(c.name);
    check_case(c);
    ++cases;
  }
  EXPECT_EQ(cases, 11);
}

struct Measured {
  Array place, temperature;
};
const Array times = array({0., 0.5, 0.7, 1.9, 2.});
const Array gaps = array({1., nan_value, 3., 2., nan_value});

TEST(Interpolation, OfTreesChannelByChannel) {
  const Measured data{stack({sin(times), cos(times)}, 1), gaps};
  const Measured line = linear_interpolation(times, data, {.fill_forward_nans_at_end = true});
  EXPECT_TRUE(array_equal(line.place, data.place).item<bool>());
  EXPECT_NEAR(line.temperature[1].item<double>(), 1 + 2 * 0.5 / 0.7, 1e-15);
  EXPECT_EQ(line.temperature[4].item<double>(), 2);
  const Measured now = LinearInterpolation{times, line}.evaluate(1.3);
  EXPECT_NEAR(now.temperature.item<double>(), 2.5, 1e-15);
  EXPECT_EQ(now.place.shape(), Shape{2});
  const CubicInterpolation smooth{
      times, backward_hermite_coefficients(times, data,
                                           {.fill_forward_nans_at_end = true,
                                            .deriv0 = {.place = array({1., 0.}), .temperature = {}}})};
  EXPECT_EQ(smooth.derivative(0.).place[0].item<double>(), 1);
  EXPECT_NEAR(smooth.derivative(0.).temperature.item<double>(), 2 / 0.7, 1e-14);
  // What is empty stays so.
  const Measured part{data.place, {}};
  EXPECT_TRUE(linear_interpolation(times, part).temperature.is_empty());
  EXPECT_TRUE((LinearInterpolation{times, part}).evaluate(1.).temperature.is_empty());
}

TEST(Interpolation, FirstValuesThatAreThereAreNotReplaced) {
  const auto cubic = backward_hermite_coefficients(times, gaps, {.replace_nans_at_start = 7.});
  EXPECT_EQ(cubic.a[0].item<double>(), 1);
  const Array missing = gaps.at(0).set(nan_value);
  EXPECT_EQ(backward_hermite_coefficients(times, missing, {.replace_nans_at_start = 7.}).a[0].item<double>(),
            7);
}

TEST(Interpolation, AnOnlyValueIsFilledForwards) {
  const Array ys = array({3., nan_value, nan_value});
  const Array ts = array({0., 1., 2.});
  EXPECT_TRUE(array_equal(linear_interpolation(ts, ys, {.fill_forward_nans_at_end = true}), full({3}, 3.))
                  .item<bool>());
  const auto cubic = backward_hermite_coefficients(ts, ys, {.fill_forward_nans_at_end = true});
  EXPECT_TRUE(array_equal(cubic.a, full({2}, 3.)).item<bool>());
  EXPECT_TRUE(array_equal(cubic.d, zeros({2})).item<bool>());
}

/// Everything that a path tells, of data that are partly missing.
Array told(const Array& ts, const Array& ys) {
  const Array line = linear_interpolation(ts, ys, {.fill_forward_nans_at_end = true});
  const LinearInterpolation straight{ts, line};
  const CubicInterpolation smooth{ts,
                                  backward_hermite_coefficients(ts, ys, {.fill_forward_nans_at_end = true})};
  return sin(straight.evaluate(1.1)) + straight.derivative(0.3) * smooth.evaluate(0.6) +
         smooth.evaluate(0.2, 1.7) + square(smooth.derivative(1.3));
}

TEST(Interpolation, DerivativesOfWhatIsThere) {
  // Gaps are no variables: they are set in from outside.
  const Array missing = isnan(gaps);
  const auto f = [&](const TimedData<>& data) { return told(data.ts, where(missing, gaps, data.ys)); };
  const TimedData<> data{times, where(missing, 0., gaps)};
  assert_numerical_gradients(f, std::tuple{data}, {.order = 2});
  const TimedData<> slopes = grad(f)(data);
  EXPECT_TRUE(all(isfinite(slopes.ts)).item<bool>()) << to_string(slopes.ts);
  EXPECT_EQ(slopes.ys[1].item<double>(), 0);
  EXPECT_NE(slopes.ys[2].item<double>(), 0);
}

TEST(Interpolation, LanesAreCalls) {
  const Array many = stack({gaps, 2. * gaps + 1., where(isnan(gaps), 0.5, gaps)});
  const auto f = [](const Array& ys) { return told(times, ys); };
  const Array together = jit(vmap(f))(many), slopes = jit(vmap(grad(f)))(many);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(together[i].item<double>(), f(many[i]).item<double>(), 1e-13);  // some roundings of 50
    EXPECT_TRUE(allclose(slopes[i], grad(f)(many[i]), {.equal_nan = true}).item<bool>());
  }
}

TEST(Interpolation, DrivesEquations) {
  // y' = cos(t) dX/dt along a cubic path: the integral of the polynomials, by the solver's order.
  const Array ts = linspace(0., 2., 5), ys = stack({ts, square(ts)}, 1);
  const auto solve = [&](const Array& data) {
    const CubicInterpolation path{ts, backward_hermite_coefficients(ts, data)};
    const auto field = [&](const Array& t, const Array&) { return path.derivative(t); };
    return diffeqsolve(ODETerm{field}, Tsit5{}, 0., 2., 0.125, array({0., 0.})).ys[-1];
  };
  // Quadratures of quadratics whose ends are steps are exact up to rounding.
  const Array end = jit(solve)(ys);
  EXPECT_NEAR(end[0].item<double>(), 2, 1e-13);
  EXPECT_NEAR(end[1].item<double>(), 4, 1e-13);
  const Array lanes = jit(vmap(solve))(stack({ys, 2. * ys}));
  EXPECT_TRUE(array_equal(lanes[0], end).item<bool>());
  EXPECT_TRUE(array_equal(lanes[1], 2. * end).item<bool>());
}

TEST(Interpolation, TimesMustAscendWhereverTheyAreKnown) {
  const auto fill = [](const Array& ts) { return linear_interpolation(ts, gaps); };
  const Array wrong = array({0., 0.5, 0.5, 1., 2.});
  EXPECT_EQ(error_of_call([&] { fill(wrong); }), "path_order");
  EXPECT_EQ(error_of_call([&] { jit(fill)(wrong); }), "path_order");
  EXPECT_EQ(error_of_call([&] { jit(vmap(fill))(stack({times, wrong})); }), "path_order");
  EXPECT_EQ(error_of_call([&] { fill(array({0., nan_value, 0.5, 1., 2.})); }), "path_order");
}

TEST(Interpolation, TimesOfPathsMadeByHandMustAscend) {
  const LinearInterpolation path{array({0., 2., 1.}), array({1., 2., 3.})};
  std::string text;
  try {
    path.evaluate(0.5);
  } catch (const Error& e) {
    text = e.what();
  }
  EXPECT_EQ(text.find("[LinearInterpolation] ts[2] is 1.0, after 2.0: the times must ascend"), 0u) << text;
}

}  // namespace
}  // namespace apsis::testing
