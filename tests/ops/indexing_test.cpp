// The forms of an index against loops over elements, updates against what they read back, and their
// derivatives.

#include "ops/index_params.hpp"
#include "ops/move_checks.hpp"

namespace apsis {
namespace {

using checks::Function;
using checks::numbers;
namespace lax = detail::lax;
using Numbers = std::vector<double>;

Array cube() { return astype(reshape(arange(24), {2, 3, 4}), f64); }

void expect_array(const Array& a, const Shape& shape, const Numbers& values) {
  EXPECT_EQ(a.shape(), shape) << to_string(a.shape());
  EXPECT_EQ(numbers(a), values);
}

TEST(Indexing, IntegersAndRanges) {
  Array x = cube();
  expect_array(x[1](2, 3), {}, {23});
  expect_array(x(1, 2, 3), {}, {23});
  expect_array(x(-1, 0), {4}, {12, 13, 14, 15});
  expect_array(x(0, range(1, {}), 0), {2}, {4, 8});
  expect_array(x(0, 0, range({}, {}, 2)), {2}, {0, 2});
  expect_array(x(0, 0, range({}, {}, -1)), {4}, {3, 2, 1, 0});
  expect_array(x(0, 0, range(2, {}, -2)), {2}, {2, 0});
  expect_array(x(0, 0, range(-1, 0, -2)), {2}, {3, 1});
  expect_array(x(0, 0, range(-2, {})), {2}, {2, 3});
  expect_array(x(0, 0, range(3, 1)), {0}, {});
  expect_array(x(0, 0, range(-99, 99)), {4}, {0, 1, 2, 3});
  expect_array(x(ellipsis, 1), {2, 3}, {1, 5, 9, 13, 17, 21});
  expect_array(x(1, ellipsis, newaxis, 1), {3, 1}, {13, 17, 21});
  expect_array(x(newaxis, 0, newaxis, 0), {1, 1, 4}, {0, 1, 2, 3});
  expect_array(x(ellipsis)(0, 0, 0), {}, {0});
}

// NumPy's rule for where the axes of index arrays stand.
TEST(Indexing, Arrays) {
  Array x = cube(), i = array({1, 0, 1}), j = array({{0, 2}, {1, 1}});
  EXPECT_EQ(x[i].shape(), (Shape{3, 3, 4}));
  EXPECT_EQ(x(range(), j).shape(), (Shape{2, 2, 2, 4}));
  EXPECT_EQ(x(i, range(), i).shape(), (Shape{3, 3}));     // apart: in front
  EXPECT_EQ(x(range(), j, j).shape(), (Shape{2, 2, 2}));  // neighbours: in place
  EXPECT_EQ(x(0, range(), i).shape(), (Shape{3, 3}));     // an integer counts as an index array
  EXPECT_EQ(x(newaxis, i, range(0, 2)).shape(), (Shape{1, 3, 2, 4}));
  EXPECT_EQ(x(range(), i, newaxis, i).shape(), (Shape{3, 2, 1}));
  auto at = [&](const Array& indexed, std::initializer_list<int> place, double want) {
    Array entry = indexed;
    for (int p : place) entry = entry[p];
    EXPECT_EQ(entry.item<double>(), want);
  };
  at(x[i], {0, 2, 3}, 23);
  at(x(range(), j), {1, 0, 1, 2}, 12 + 8 + 2);
  at(x(i, range(), i), {0, 2}, 12 + 8 + 1);
  at(x(range(), j, j), {1, 0, 1}, 12 + 8 + 2);
  at(x(0, range(), i), {1, 2}, 2 * 4 + 0);
  at(x(range(), i, newaxis, i), {1, 1, 0}, 12 + 0 + 0);
  expect_array(x(array(-1), 0, 0), {}, {12});  // negative, and clamped
  expect_array(x(array(7), 0, 0), {}, {12});
  expect_array(x(array(std::vector<std::uint8_t>{1, 200}), 0, 0), {2}, {12, 12});
}

TEST(Indexing, Masks) {
  Array x = cube();
  expect_array(x[x > 20.5], {3}, {21, 22, 23});
  expect_array(x(array({true, false}), 0, array({false, true, true, false})), {2}, {1, 2});
  expect_array(x.at(x > 20.5).set(0.)(1, 2), {4}, {20, 0, 0, 0});
}

// A scalar traced index becomes a dynamic slice, and reads the same as a static one.
TEST(Indexing, TracedScalars) {
  Function f = [](std::span<const Array> in) {
    return std::vector<Array>{in[0][in[1]], in[0](0, in[1]), in[0](in[1], range(1, 3), in[1]),
                              in[0].at(in[1], 0).set(-1.), in[0].at(range(), in[1]).add(1.)};
  };
  std::vector<Array> in{cube(), array(1)};
  auto out = f(in);
  EXPECT_EQ(numbers(out[0]), numbers(cube()[1]));
  EXPECT_EQ(numbers(out[1]), numbers(cube()(0, 1)));
  EXPECT_EQ(numbers(out[2]), numbers(cube()(1, range(1, 3), 1)));
  checks::check_staged(f, in);
  checks::check_lanes(f, in);
  std::vector<Aval> avals{in[0].aval(), in[1].aval()};
  auto staged = detail::stage_with(f, avals, "test");
  for (const auto& e : staged.graph->eqns()) EXPECT_NE(std::string(e.op->name), "gather");
}

TEST(Indexing, UpdatesReadBack) {
  Array x = cube();
  auto check = [&](auto... index) {
    Array old = x(index...);
    Array fresh = old + 100.;
    Array y = x.at(index...).set(fresh);
    EXPECT_EQ(numbers(y(index...)), numbers(fresh));
    // Nothing else changed.
    EXPECT_EQ(numbers(y.at(index...).set(old)), numbers(x));
    EXPECT_EQ(numbers(x.at(index...).add(100.)), numbers(y));
    EXPECT_EQ(numbers(x.at(index...).max(old + 100.)), numbers(y));
    EXPECT_EQ(numbers(x.at(index...).min(old + 100.)), numbers(x));
    EXPECT_EQ(numbers(x.at(index...).multiply(1.)), numbers(x));
  };
  check(0);
  check(-1, range(1, {}));
  check(ellipsis, range({}, {}, 2));
  check(range(), range({}, {}, -2), 1);
  check(range(), newaxis, 2);
  check(array({1, 0}), range(0, 2));
  check(1, range(), array({3, 0}));
  check(array(1), range(), array(2));
  check(range(0, 0));
}

TEST(Indexing, WritesOutOfBoundsAreDropped) {
  Array x = array({1., 2., 3.});
  expect_array(x.at(array(5)).set(9.), {3}, {1, 2, 3});
  expect_array(x.at(array({5, 0, -7})).add(1.), {3}, {2, 2, 3});
  expect_array(x.at(array(5)).set(9., IndexMode::Clip), {3}, {1, 2, 9});
  EXPECT_TRUE(std::isnan(x.at(array(5)).get(IndexMode::Fill).item<double>()));
}

TEST(Indexing, UpdatesKeepTheDtype) {
  Array x = zeros({3}, f32);
  EXPECT_EQ(x.at(0).set(1.5).dtype(), f32);
  EXPECT_EQ(x.at(0).set(array({1.5})(0)).dtype(), f32);
  EXPECT_EQ(arange(3).at(1).set(astype(array(7), i16)).dtype(), i64);
  EXPECT_EQ(zeros({2}, boolean).at(1).set(1)[1].item<bool>(), true);
}

// Derivatives of every kind of update, with distinct positions and, where they are defined, repeated ones.
TEST(Indexing, DerivativesOfUpdates) {
  std::vector<Array> in{array({0.3, -0.7, 1.1, 0.2}), array({0.5, -0.9})};
  auto check = [&](const Function& f) {
    auto out = f(in);
    checks::check_derivatives(f, in, {array({1., -2., 0.5, 3.})}, {}, 1e-7);
    checks::check_staged(f, in);
    checks::check_lanes(f, in);
  };
  Array places = array({2, 0}), repeated = array({1, 1});
  check([&](auto x) { return std::vector<Array>{x[0].at(places).set(x[1])}; });
  check([&](auto x) { return std::vector<Array>{x[0].at(repeated).set(x[1])}; });
  check([&](auto x) { return std::vector<Array>{x[0].at(repeated).add(x[1])}; });
  check([&](auto x) { return std::vector<Array>{x[0].at(places).min(x[1])}; });
  check([&](auto x) { return std::vector<Array>{x[0].at(repeated).max(x[1])}; });
  check([&](auto x) { return std::vector<Array>{x[0].at(repeated).multiply(array({0.5, -0.9}))}; });
  check([&](auto x) { return std::vector<Array>{x[0].at(range(1, 3)).multiply(x[1])}; });
  check([&](auto x) { return std::vector<Array>{x[0].at(range({}, {}, 2)).set(x[1])}; });
  check([&](auto x) { return std::vector<Array>{x[0].at(array(2)).multiply(x[1][0])}; });
}

}  // namespace
}  // namespace apsis
