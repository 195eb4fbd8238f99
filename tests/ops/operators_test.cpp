// The public elementwise functions: promotion, broadcasting, weak scalars, compound assignment.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"

namespace apsis {
namespace {

using Doubles = std::vector<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();
using Integers = std::vector<std::int64_t>;

TEST(Operators, BroadcastAndPromote) {
  Array column = array({{1.}, {2.}}), row = array({10., 20., 30.});
  Array sum_of = column + row;
  EXPECT_EQ(sum_of.shape(), (Shape{2, 3}));
  EXPECT_EQ(sum_of.to_vector<double>(), (Doubles{11, 21, 31, 12, 22, 32}));
  Array mixed = array(std::vector<std::int32_t>{1, 2}) + array(std::vector<float>{.5f, .25f});
  EXPECT_EQ(mixed.dtype(), f32);
  EXPECT_EQ(mixed.to_vector<double>(), (Doubles{1.5, 2.25}));
}

TEST(Operators, ScalarsAreWeak) {
  Array x = array(std::vector<float>{1, 2});
  EXPECT_EQ((x * 0.5).dtype(), f32);
  EXPECT_EQ((2 / x).dtype(), f32);
  EXPECT_FALSE((x + 1).weak());
  Array scalar = Array(1.) + 2;
  EXPECT_TRUE(scalar.weak());
  EXPECT_EQ(scalar.dtype(), f64);
  EXPECT_EQ(scalar.item<double>(), 3.);
  EXPECT_EQ((x + Array(1., f64)).dtype(), f64);
}

TEST(Operators, DivisionIsTrueAndRemainderFloored) {
  Array a = array(std::vector<std::int32_t>{7, -7, 7, -7, 5}),
        b = array(std::vector<std::int32_t>{2, 2, -2, -2, 0});
  EXPECT_EQ((a / b).dtype(), f32);
  EXPECT_EQ((array({7}) / 2).item<double>(), 3.5);
  EXPECT_EQ((a % b).to_vector<std::int64_t>(), (Integers{1, 1, -1, -1, 0}));
  EXPECT_EQ(floor_divide(a, b).to_vector<std::int64_t>(), (Integers{3, -4, -4, 3, -2}));
  EXPECT_EQ(fmod(a, b).to_vector<std::int64_t>(), (Integers{1, -1, 1, -1, 5}));
  EXPECT_EQ((array({7., -7., 7.}) % array({3., 3., -3.})).to_vector<double>(), (Doubles{1, 2, -2}));
}

TEST(Operators, CompoundAssignmentRebinds) {
  Array x = array({1., 2.}), other = x;
  x += 1;
  x *= x;
  x -= 1.;
  x /= 2;
  EXPECT_EQ(x.to_vector<double>(), (Doubles{1.5, 4}));
  EXPECT_EQ(other.to_vector<double>(), (Doubles{1, 2}));
}

TEST(Operators, BooleansAddAsOrAndMultiplyAsAnd) {
  Array a = array(std::vector<bool>{true, true, false}), b = array(std::vector<bool>{true, false, false});
  EXPECT_EQ((a + b).dtype(), boolean);
  EXPECT_EQ((a + b).to_vector<int>(), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ((a * b).to_vector<int>(), (std::vector<int>{1, 0, 0}));
  EXPECT_EQ((a + 1).dtype(), i64);
}

TEST(Operators, ComparisonsAndLogic) {
  Array x = array({0.5, 2., std::nan("")});
  EXPECT_EQ((x < 1.).to_vector<int>(), (std::vector<int>{1, 0, 0}));
  EXPECT_EQ((x != x).to_vector<int>(), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ((0. < x && x < 1.).to_vector<int>(), (std::vector<int>{1, 0, 0}));
  EXPECT_EQ((!(x < 1.) || x == 0.5).to_vector<int>(), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ((array({6}) & 3).item<int>(), 2);
  EXPECT_EQ((array({1}) << 4).item<int>(), 16);
  EXPECT_EQ((array({-16}) >> 2).item<int>(), -4);
  EXPECT_EQ((~array({5})).item<int>(), -6);
  EXPECT_TRUE(bool(all(x == x || isnan(x))));
  EXPECT_EQ((x && true).to_vector<int>(), (std::vector<int>{1, 1, 1}));
}

TEST(Operators, PowersOfIntegersMultiply) {
  Array x = array({3., -2.});
  EXPECT_EQ(pow(x, 2).to_vector<double>(), (Doubles{9, 4}));
  EXPECT_EQ(pow(x, 3).to_vector<double>(), (Doubles{27, -8}));
  EXPECT_EQ(pow(x, -1).to_vector<double>(), (Doubles{1. / 3, -.5}));
  EXPECT_EQ(pow(x, 0).to_vector<double>(), (Doubles{1, 1}));
  EXPECT_EQ(pow(array({3, -2}), 3).to_vector<std::int64_t>(), (Integers{27, -8}));
  EXPECT_EQ(pow(array({3, -1, 2, 0}), array({4, -3, -1, 0})).to_vector<std::int64_t>(),
            (Integers{81, -1, 0, 1}));
}

TEST(Reductions, AxesAndKeepdims) {
  Array x = array({{1., 2., 3.}, {4., 5., 6.}});
  EXPECT_EQ(sum(x).item<double>(), 21);
  EXPECT_EQ(sum(x, {.axis = 0}).to_vector<double>(), (Doubles{5, 7, 9}));
  EXPECT_EQ(sum(x, {.axis = -1}).to_vector<double>(), (Doubles{6, 15}));
  EXPECT_EQ(sum(x, {.axis = {1, 0}, .keepdims = true}).shape(), (Shape{1, 1}));
  EXPECT_EQ(mean(x, {.axis = 1, .keepdims = true}).shape(), (Shape{2, 1}));
  EXPECT_EQ(max(x, {.axis = 0}).to_vector<double>(), (Doubles{4, 5, 6}));
  EXPECT_EQ(argmax(x).item<int>(), 5);
  EXPECT_EQ(argmin(x, {.axis = 1, .keepdims = true}).shape(), (Shape{2, 1}));
  EXPECT_DOUBLE_EQ(var(x).item<double>(), 35. / 12);
  EXPECT_DOUBLE_EQ(std_(x, {.ddof = 1}).item<double>(), std::sqrt(3.5));
  EXPECT_DOUBLE_EQ(norm(array({3., 4.})).item<double>(), 5);
  EXPECT_DOUBLE_EQ(logsumexp(array({1000., 1000.})).item<double>(), 1000 + std::log(2.));
  EXPECT_EQ(cumsum(x, {.axis = 1, .reverse = true}).to_vector<double>(), (Doubles{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(cumprod(array({2., 3., 4.})).to_vector<double>(), (Doubles{2, 6, 24}));
  EXPECT_EQ(sum(array(std::vector<bool>{true, true})).dtype(), i64);
  EXPECT_TRUE(bool(any(array({0, 1}))));
  EXPECT_FALSE(bool(all(array({0, 1}))));
}

TEST(Reductions, AveragesOfHalvesDoNotOverflow) {
  const Array large = astype(array({60000., 60000., 30000., 30000.}), f16);
  EXPECT_EQ(mean(large).item<double>(), 45000 - 8);  // the nearest f16, ties to even
  EXPECT_EQ(mean(large).dtype(), f16);
  EXPECT_EQ(var(astype(array({-300., 300.}), f16)).item<double>(), infinity);
  EXPECT_EQ(std_(astype(array({-100., 100.}), bf16)).item<double>(), 100);
}

TEST(Select, WhereAndClasses) {
  Array x = array({-1., 0., infinity});
  EXPECT_EQ(where(x > 0., x, 0).to_vector<double>(), (Doubles{0, 0, infinity}));
  EXPECT_EQ(isfinite(x).to_vector<int>(), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(isinf(x).to_vector<int>(), (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(clip(x, -0.5, 1).to_vector<double>(), (Doubles{-0.5, 0, 1}));
  EXPECT_EQ(astype(array({-1.5, 300., std::nan("")}), u8).to_vector<int>(), (std::vector<int>{0, 255, 0}));
}

TEST(Gamma, KnownValues) {
  const double pi = 3.14159265358979323846, euler = 0.57721566490153286061;
  EXPECT_DOUBLE_EQ(lgamma(array({5.})).item<double>(), std::log(24.));
  EXPECT_DOUBLE_EQ(digamma(array({1.})).item<double>(), -euler);
  // Reference values: pi^2/6, pi^2/2, pi^2/2 + 4 by reflection, and pi^2/6 less the first nine squares of
  // 1/n.
  EXPECT_DOUBLE_EQ(trigamma(array({1.})).item<double>(), pi * pi / 6);
  EXPECT_DOUBLE_EQ(trigamma(array({0.5})).item<double>(), pi * pi / 2);
  EXPECT_DOUBLE_EQ(trigamma(array({-0.5})).item<double>(), pi * pi / 2 + 4);
  EXPECT_NEAR(trigamma(array({10.})).item<double>(), 0.10516633568168575, 1e-16);
  EXPECT_FLOAT_EQ(trigamma(array({1.f})).item<float>(), static_cast<float>(pi * pi / 6));
}

TEST(Errors, NameTheLineOfTheUser) {
  const Array a = array({1., 2.}), b = array({1., 2., 3.});
  std::string text;
  unsigned line = 0;
  try {
    line = __LINE__ + 1;
    Array c = a + b;
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("operators_test.cpp:" + std::to_string(line)), std::string::npos) << text;
}

}  // namespace
}  // namespace apsis
