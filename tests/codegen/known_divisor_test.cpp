#include "codegen/builder/known_divisor.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

namespace apsis::detail {
namespace {

template <class T>
bool same_quotient(T x, T y, const KnownDivisor<T>& d) {
  const T got = std::fma(x, d.high, x * d.low), want = x / y;
  return std::memcmp(&got, &want, sizeof got) == 0;
}

/// Numbers that people divide by, then any.
template <class T>
T divisor(int number, std::mt19937_64& random) {
  if (number < 50) return T(number + 1);
  if (number < 100) return T(number - 49) / 100;
  const T any = static_cast<T>(std::ldexp(double(random() >> 11), static_cast<int>(random() % 30) - 15 - 53));
  return number % 2 ? any : -any;
}

/// Calls `check(y, its two products)` for every `step`th of so many divisors. Returns the part that has them.
template <class T, class Check>
double for_divisors(int count, int step, std::uint64_t seed, const Check& check) {
  std::mt19937_64 random(seed);
  int served = 0, known = 0;
  for (int number = 0; number < count; number += step) {
    const T y = divisor<T>(number, random);
    if (has_exact_inverse(y)) continue;
    ++known;
    const auto d = known_divisor(y);
    if (!d) continue;
    ++served;
    check(y, *d);
  }
  return static_cast<double>(served) / known;
}

// Every number between two powers of two, for divisors of every kind.
TEST(KnownDivisor, DividesEveryFloat) {
  const double served = for_divisors<float>(120, 7, 1, [](float y, const KnownDivisor<float>& d) {
    for (std::uint32_t whole = 1u << 23; whole < 1u << 24; ++whole)
      ASSERT_TRUE(same_quotient(static_cast<float>(whole), y, d)) << whole << " / " << y;
  });
  EXPECT_GT(served, 0.75);
}

TEST(KnownDivisor, DividesDoubles) {
  std::mt19937_64 random(3);
  const double served = for_divisors<double>(3000, 1, 2, [&](double y, const KnownDivisor<double>& d) {
    const double infinity = std::numeric_limits<double>::infinity(),
                 most = std::numeric_limits<double>::max();
    for (double x : {0., -0., infinity, -infinity, most, -most, d.least, -d.least, 1.7 * d.least})
      ASSERT_TRUE(same_quotient(x, y, d)) << x << " / " << y;
    for (int k = 0; k < 1000; ++k) {
      const double x = std::ldexp(double(random() >> 11), static_cast<int>(random() % 1200) - 600);
      ASSERT_TRUE(same_quotient(x, y, d)) << x << " / " << y;
    }
  });
  EXPECT_GT(served, 0.9);
}

TEST(KnownDivisor, LeavesWhatHasNoTwoProducts) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (double y : {0., -0., infinity, std::nan(""), 2., -0.125, 1e300, 1e-300, 5e-324})
    EXPECT_FALSE(known_divisor(y)) << y;
  for (double y : {2., -0.125, 1., 0x1p1022}) EXPECT_TRUE(has_exact_inverse(y)) << y;
  for (double y : {0., 3., infinity, std::nan(""), 0x1p1023, 0x1p-1023})
    EXPECT_FALSE(has_exact_inverse(y)) << y;
}

}  // namespace
}  // namespace apsis::detail
