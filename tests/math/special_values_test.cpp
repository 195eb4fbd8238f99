#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "ops/math/functions.hpp"

// Values that are fixed exactly: by C99 Annex F and IEEE 754, or because the result is a representable
// number.
namespace apsis::test {
namespace {

namespace math = detail::math;

template <class T>
math::Real<math::ScalarModel<T>> real(T x) {
  return {{}, x};
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

template <class T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

struct Value {
  double x, result;
};

#define EXPECT_VALUES(name, ...)                                                                            \
  for (const Value& value : std::vector<Value>{__VA_ARGS__}) {                                              \
    EXPECT_TRUE(same(math::name(real(value.x)).v, value.result)) << #name " of f64 at " << value.x;         \
    const float x = static_cast<float>(value.x);                                                            \
    EXPECT_TRUE(same(math::name(real(x)).v, static_cast<float>(value.result))) << #name " of f32 at " << x; \
  }

TEST(SpecialValues, Exponentials) {
  EXPECT_VALUES(exp, {0, 1}, {-0., 1}, {infinity, infinity}, {-infinity, 0}, {undefined, undefined},
                {1e4, infinity}, {-1e4, 0});
  EXPECT_VALUES(exp2, {0, 1}, {-0., 1}, {3, 8}, {-3, 0.125}, {infinity, infinity}, {-infinity, 0},
                {undefined, undefined});
  EXPECT_VALUES(expm1, {0, 0}, {-0., -0.}, {infinity, infinity}, {-infinity, -1}, {undefined, undefined},
                {-1e4, -1}, {1e4, infinity});
  for (int k = -1074; k < 1024; ++k) EXPECT_EQ(math::exp2(real(double(k))).v, std::ldexp(1., k));
  for (int k = -149; k < 128; ++k) EXPECT_EQ(math::exp2(real(float(k))).v, std::ldexp(1.f, k));
}

TEST(SpecialValues, Logarithms) {
  EXPECT_VALUES(log, {1, 0}, {0, -infinity}, {-0., -infinity}, {infinity, infinity}, {-1, undefined},
                {-infinity, undefined}, {undefined, undefined});
  EXPECT_VALUES(log2, {1, 0}, {0, -infinity}, {-0., -infinity}, {infinity, infinity}, {-1, undefined},
                {undefined, undefined});
  EXPECT_VALUES(log10, {1, 0}, {0, -infinity}, {-0., -infinity}, {infinity, infinity}, {-1, undefined},
                {undefined, undefined});
  EXPECT_VALUES(log1p, {0, 0}, {-0., -0.}, {-1, -infinity}, {infinity, infinity}, {-2, undefined},
                {-infinity, undefined}, {undefined, undefined});
  for (int k = -1074; k < 1024; ++k) EXPECT_EQ(math::log2(real(std::ldexp(1., k))).v, k);
  for (int k = -149; k < 128; ++k) EXPECT_EQ(math::log2(real(std::ldexp(1.f, k))).v, k);
  double power = 1;
  for (int k = 0; k <= 22; ++k, power *= 10) EXPECT_EQ(math::log10(real(power)).v, k);
  float power_f32 = 1;
  for (int k = 0; k <= 10; ++k, power_f32 *= 10) EXPECT_EQ(math::log10(real(power_f32)).v, k);
}

TEST(SpecialValues, Roots) {
  EXPECT_VALUES(sqrt, {0, 0}, {-0., -0.}, {4, 2}, {infinity, infinity}, {-1, undefined},
                {undefined, undefined});
  EXPECT_VALUES(rsqrt, {0, infinity}, {-0., -infinity}, {4, 0.5}, {infinity, 0}, {-1, undefined},
                {undefined, undefined});
  EXPECT_VALUES(cbrt, {0, 0}, {-0., -0.}, {infinity, infinity}, {-infinity, -infinity},
                {undefined, undefined});
  for (int k = 1; k <= 200; ++k) {
    EXPECT_EQ(math::cbrt(real(double(k) * k * k)).v, k);
    EXPECT_EQ(math::cbrt(real(-float(k) * k * k)).v, -k);
    EXPECT_EQ(math::hypot(real(3. * k), real(-4. * k)).v, 5. * k);
  }
  EXPECT_EQ(math::hypot(real(infinity), real(undefined)).v, infinity);
  EXPECT_EQ(math::hypot(real(undefined), real(-infinity)).v, infinity);
  EXPECT_TRUE(std::isnan(math::hypot(real(1.), real(undefined)).v));
  EXPECT_EQ(math::hypot(real(3e-320), real(4e-320)).v, 5e-320);
  EXPECT_EQ(math::hypot(real(0.), real(-0.)).v, 0);
}

TEST(SpecialValues, Trigonometry) {
  EXPECT_VALUES(sin, {0, 0}, {-0., -0.}, {infinity, undefined}, {-infinity, undefined},
                {undefined, undefined});
  EXPECT_VALUES(cos, {0, 1}, {-0., 1}, {infinity, undefined}, {-infinity, undefined}, {undefined, undefined});
  EXPECT_VALUES(tan, {0, 0}, {-0., -0.}, {infinity, undefined}, {-infinity, undefined},
                {undefined, undefined});
  EXPECT_VALUES(asin, {0, 0}, {-0., -0.}, {2, undefined}, {-infinity, undefined}, {undefined, undefined});
  EXPECT_VALUES(acos, {1, 0}, {2, undefined}, {infinity, undefined}, {undefined, undefined});
  EXPECT_VALUES(atan, {0, 0}, {-0., -0.}, {undefined, undefined}, {infinity, 1.5707963267948966},
                {-infinity, -1.5707963267948966}, {1, 0.7853981633974483});
}

TEST(SpecialValues, SinesStayWithinOne) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    const double x = (i - 100000) * 1.5707963267948966 + (i % 7 - 3) * 1e-9;
    EXPECT_LE(std::fabs(math::sin(real(x)).v), 1) << x;
    EXPECT_LE(std::fabs(math::cos(real(x)).v), 1) << x;
    const float y = static_cast<float>(x);
    EXPECT_LE(std::fabs(math::sin(real(y)).v), 1) << y;
    EXPECT_LE(std::fabs(math::cos(real(y)).v), 1) << y;
    const double any = std::bit_cast<double>(random());
    EXPECT_FALSE(std::fabs(math::sin(real(any)).v) > 1) << any;
    EXPECT_FALSE(std::fabs(math::cos(real(any)).v) > 1) << any;
  }
}

TEST(SpecialValues, Atan2) {
  // Annex F fixes the multiple of pi/4; here it is correctly rounded, as the C library's.
  for (double y : {0., -0., infinity, -infinity, 1., -1., undefined}) {
    for (double x : {0., -0., infinity, -infinity, 1., -1., undefined}) {
      EXPECT_TRUE(same(math::atan2(real(y), real(x)).v, std::atan2(y, x))) << y << ", " << x;
      EXPECT_TRUE(same(math::atan2(real(float(y)), real(float(x))).v, std::atan2(float(y), float(x))))
          << y << ", " << x;
    }
  }
}

TEST(SpecialValues, Hyperbolics) {
  EXPECT_VALUES(sinh, {0, 0}, {-0., -0.}, {infinity, infinity}, {-infinity, -infinity},
                {undefined, undefined});
  EXPECT_VALUES(cosh, {0, 1}, {-0., 1}, {infinity, infinity}, {-infinity, infinity}, {undefined, undefined});
  EXPECT_VALUES(tanh, {0, 0}, {-0., -0.}, {infinity, 1}, {-infinity, -1}, {25, 1}, {undefined, undefined});
  EXPECT_VALUES(asinh, {0, 0}, {-0., -0.}, {infinity, infinity}, {-infinity, -infinity},
                {undefined, undefined});
  EXPECT_VALUES(acosh, {1, 0}, {0, undefined}, {-infinity, undefined}, {infinity, infinity},
                {undefined, undefined});
  EXPECT_VALUES(atanh, {0, 0}, {-0., -0.}, {1, infinity}, {-1, -infinity}, {2, undefined},
                {infinity, undefined}, {undefined, undefined});
  EXPECT_VALUES(logistic, {0, 0.5}, {-0., 0.5}, {infinity, 1}, {-infinity, 0}, {undefined, undefined});
}

TEST(SpecialValues, ErrorAndGamma) {
  EXPECT_VALUES(erf, {0, 0}, {-0., -0.}, {infinity, 1}, {-infinity, -1}, {undefined, undefined});
  EXPECT_VALUES(erfc, {0, 1}, {-0., 1}, {infinity, 0}, {-infinity, 2}, {undefined, undefined});
  EXPECT_VALUES(erf_inv, {0, 0}, {-0., -0.}, {1, infinity}, {-1, -infinity}, {2, undefined},
                {undefined, undefined});
  EXPECT_VALUES(lgamma, {1, 0}, {2, 0}, {0, infinity}, {-0., infinity}, {-1, infinity}, {-2, infinity},
                {infinity, infinity}, {-infinity, infinity}, {undefined, undefined});
  EXPECT_VALUES(digamma, {0, undefined}, {-0., undefined}, {-1, undefined}, {infinity, infinity},
                {-infinity, undefined}, {undefined, undefined});
}

TEST(SpecialValues, Rounding) {
  EXPECT_VALUES(ceil, {0, 0}, {-0., -0.}, {-0.5, -0.}, {0.5, 1}, {infinity, infinity},
                {undefined, undefined});
  EXPECT_VALUES(trunc, {0, 0}, {-0., -0.}, {-0.5, -0.}, {-1.5, -1}, {1.5, 1}, {-infinity, -infinity},
                {undefined, undefined});
}

/// Pairs on which IEEE 754 fixes the result of pow and fmod; the C library follows it.
TEST(SpecialValues, PowerAndRemainder) {
  const double values[] = {0.,     -0.,    1.,     -1.,        2.,        -2.,      3.,
                           -3.,    0.5,    -0.5,   infinity,   -infinity, 5e-324,   1e300,
                           1e-300, -1e300, 0x1p53, 0x1p53 - 1, 1e-40,     undefined};
  for (double x : values) {
    for (double y : values) {
      const double power = std::pow(x, y), got = math::pow(real(x), real(y)).v;
      const bool fixed = power == 0 || power == 1 || power == -1 || !std::isfinite(power) ||
                         (std::fabs(y) <= 3 && y == std::rint(y) && std::fabs(x) >= 0.5 && std::fabs(x) <= 3);
      EXPECT_TRUE(fixed ? same(got, power) : std::fabs(got / power - 1) < 1e-15)
          << x << "^" << y << " = " << got;
      const float a = static_cast<float>(x), b = static_cast<float>(y);
      const float power_f32 = std::pow(a, b), got_f32 = math::pow(real(a), real(b)).v;
      EXPECT_TRUE(same(got_f32, power_f32) || std::fabs(got_f32 / power_f32 - 1) < 1.2e-7f)
          << a << "^" << b << " = " << got_f32;
      EXPECT_TRUE(same(math::fmod(real(x), real(y)).v, std::fmod(x, y))) << x << " mod " << y;
      EXPECT_TRUE(same(math::fmod(real(a), real(b)).v, std::fmod(a, b))) << a << " mod " << b;
    }
  }
  EXPECT_EQ(math::pow(real(7.), real(3.)).v, 343);
  EXPECT_EQ(math::pow(real(10.), real(22.)).v, 1e22);
  EXPECT_EQ(math::pow(real(2.), real(-1074.)).v, 0x1p-1074);
}

}  // namespace
}  // namespace apsis::test
