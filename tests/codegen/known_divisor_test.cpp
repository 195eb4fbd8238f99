#include "codegen/builder/known_divisor.hpp"

#include <gtest/gtest.h>

#include "codegen/staged_compiled_equal.hpp"

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

std::uint64_t quotient(std::uint64_t x, const KnownWholeDivisor& d) {
  __extension__ using Wide = unsigned __int128;
  const auto high = static_cast<std::uint64_t>(Wide{x} * d.factor >> 64);
  return (d.adds ? ((x - high) >> 1) + high : high) >> d.shift;
}

// Around multiples of the divisor and of powers of two, and anywhere.
TEST(KnownDivisor, DividesWholeNumbers) {
  std::mt19937_64 random(5);
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  for (int number = 0; number < 4000; ++number) {
    const std::uint64_t any = random() >> (random() % 62),
                        d = number < 500   ? static_cast<std::uint64_t>(number) + 3
                            : number < 600 ? ~std::uint64_t{0} - static_cast<std::uint64_t>(number - 500)
                            : number < 700 ? half - 50 + static_cast<std::uint64_t>(number - 600)
                                           : any | 3;
    if ((d & (d - 1)) == 0) continue;
    const KnownWholeDivisor of_all = known_whole_divisor(d, false), of_half = known_whole_divisor(d, true);
    EXPECT_FALSE(of_half.adds);
    const auto check = [&](std::uint64_t x) {
      ASSERT_EQ(quotient(x, of_all), x / d) << x << " / " << d;
      if (x <= half && d <= half) {
        ASSERT_EQ(quotient(x, of_half), x / d) << x << " / " << d;
      }
    };
    for (std::uint64_t near :
         {std::uint64_t{0}, half, random() / d * d, ~std::uint64_t{0} / d * d, half / d * d})
      for (std::uint64_t off = 0; off < 5; ++off) check(near + off - 2);
    for (int k = 0; k < 200; ++k) check(random() >> (random() % 64));
  }
}

// Divisors of both signs, powers of two, the extremes and 0; numbers all over the range, the least included.
TEST(KnownDivisor, InCompiledCode) {
  const auto quotients = [](Dtype dtype, std::int64_t divisor) {
    return [=](const Array& x) {
      const Array bits = astype(x, u64) * 0x9e3779b97f4a7c15ull,
                  any = astype(where(x == 0., Array(1ull << 63, u64), bits >> (bits >> 58)), dtype),
                  by = Array(divisor, dtype);
      return std::pair{floor_divide(any, by), any % by};
    };
  };
  const Array x = floor(filled({f64, {203}}, 1) * 1e6);
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = -(least + 1);
  for (const Dtype dtype : {i64, u64, i32, u32, i16, u8})
    for (const std::int64_t d : {least, least + 1, most, std::int64_t{-998244353}, std::int64_t{-7},
                                 std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{3},
                                 std::int64_t{7}, std::int64_t{64}, std::int64_t{641}, std::int64_t{1000003}})
      testing::expect_graph_compiled_equal(quotients(dtype, d), x);
}

// Many loops that differ by what they divide by are functions, each with its divisor.
TEST(KnownDivisor, OfLoopsThatAreFunctions) {
  testing::expect_graph_compiled_equal(
      [](const Array& x) {
        Array n = astype(x * 1e6, i64), all = n;
        for (std::int64_t d = 3; d < 60; ++d) all = cumsum(all % d + n, {.axis = 0}) * 31 + x.size();
        return all;
      },
      filled({f64, {1000}}, 2));
}

}  // namespace
}  // namespace apsis::detail
