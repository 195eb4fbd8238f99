#include "codegen/builder/known_divisor.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace apsis::detail {
namespace {

__extension__ using Wide = unsigned __int128;

/// 1 / y modulo 2^128, of an odd y.
Wide inverse(Wide y) {
  Wide x = y;  // right in three bits; each step doubles them
  for (int bits = 3; bits < 128; bits *= 2) x *= 2 - x * y;
  return x;
}

template <class T>
T quotient(T x, const KnownDivisor<T>& d) {
  return std::fma(x, d.high, x * d.low);
}

/// The sum of both products differs from x / y by less than 2^(2 - 2p) of it, p being the digits of T. So it
/// is rounded otherwise only if x / y is that close to the middle of two neighbours. In integers of p digits
/// for x and y, and p + 1 digits, the last one set, for the middle u:
///
///     x 2^s = u y + d,    |d| <= 2^(2 - 2p) 2^(2p + 1) = 8,    s = p or p + 1.
///
/// All such x are tried.
template <class T>
bool serves_all(T y, const KnownDivisor<T>& divisor) {
  constexpr int p = std::numeric_limits<T>::digits;
  constexpr std::int64_t farthest = 16;
  int exponent;
  const auto whole = static_cast<std::uint64_t>(std::ldexp(std::frexp(std::abs(y), &exponent), p));
  const int even = std::countr_zero(whole);
  const Wide odd_inverse = inverse(whole >> even);
  for (int s = p; s <= p + 1; ++s)
    for (std::int64_t d = -farthest; d <= farthest; ++d) {
      if (d % (std::int64_t{1} << std::min(even, 8)) != 0 || d == 0) continue;
      // u y = -d modulo 2^s
      const Wide step = Wide{1} << (s - even);
      const Wide first = (static_cast<Wide>(-(d >> even)) * odd_inverse) & (step - 1);
      for (Wide u = first; u < Wide{1} << (p + 1); u += step) {
        if (u < Wide{1} << p || u % 2 == 0) continue;
        const Wide product = u * whole + static_cast<Wide>(static_cast<__int128>(d));
        const T x = static_cast<T>(static_cast<std::uint64_t>(product >> s));
        if (x >= T(std::uint64_t{1} << p) || x < T(std::uint64_t{1} << (p - 1))) continue;
        if (quotient(x, divisor) != x / y) return false;
      }
    }
  return true;
}

}  // namespace

template <class T>
std::optional<KnownDivisor<T>> known_divisor(T y) {
  using L = std::numeric_limits<T>;
  // Products of numbers that are not small themselves do not underflow.
  constexpr int far = L::digits == 24 ? 20 : 100;
  constexpr int smallest = L::digits == 24 ? -64 : -768;
  int exponent;
  if (!std::isfinite(y) || y == 0 || has_exact_inverse(y)) return {};
  std::frexp(y, &exponent);
  if (std::abs(exponent) > far) return {};
  KnownDivisor<T> d{1 / y, 0, 0};
  T rest = std::fma(-d.high, y, T(1));  // exact
  if (rest < 0) {
    d.high = std::nextafter(d.high, T(0));
    rest = std::fma(-d.high, y, T(1));
  }
  d.low = rest / y;
  const T least = 2 * L::min() * std::max(1 / std::abs(d.low), std::abs(y));
  std::frexp(least, &exponent);
  if (exponent > smallest) return {};
  d.least = std::ldexp(T(1), exponent);
  return serves_all(y, d) ? std::optional(d) : std::nullopt;
}

// With 2^(l-1) < d < 2^l, and e = factor·d - 2^(63+l), which is at most d: x·factor / 2^(63+l) is more than
// x / d by x·e / (2^(63+l)·d). That must stay below 1 / d, the least that x / d is below a whole number.
KnownWholeDivisor known_whole_divisor(std::uint64_t d, bool up_to_half) {
  const int l = std::bit_width(d);
  const Wide power = Wide{1} << (63 + l), factor = power / d + 1;
  const bool adds = !up_to_half && factor * d - power > Wide{1} << (l - 1);
  if (!adds) return {static_cast<std::uint64_t>(factor), l - 1, false};
  // 2^64 + factor, for 2^(64+l)
  const Wide rest = ((Wide{1} << l) - d) << 64;
  return {static_cast<std::uint64_t>(rest / d + 1), l - 1, true};
}

template std::optional<KnownDivisor<float>> known_divisor(float);
template std::optional<KnownDivisor<double>> known_divisor(double);

}  // namespace apsis::detail
