#pragma once

// Division by a number that is known when code is written, without the divider of the processor.

#include <cmath>
#include <cstdint>
#include <optional>

namespace apsis::detail {

/// Whether x / y is x times another number of T: y is a power of two.
template <class T>
bool has_exact_inverse(T y) {
  int exponent;
  return std::isnormal(y) && std::isnormal(1 / y) && std::abs(std::frexp(y, &exponent)) == T(0.5);
}

/// 1 / y as a sum, of which `high` is 1 / y rounded towards 0. For every x that is 0, infinite, NaN or at
/// least `least` in magnitude, x·high + x·low, where the second product is rounded and the sum with the first
/// is rounded once (fma), is x / y to the last bit: its sign too, since both products have it.
template <class T>
struct KnownDivisor {
  T high, low, least;
};

/// Nothing for powers of two, for numbers far from 1, and for those few that the two products do not serve.
/// (Brisebarre, Muller and Raina, Accelerating correctly rounded floating-point division when the divisor is
/// known in advance, IEEE Transactions on Computers 53, 2004)
template <class T>
std::optional<KnownDivisor<T>> known_divisor(T y);

/// The quotient of whole numbers: of the upper half h of x·factor, h >> shift; if `adds`, as the factor has a
/// bit more than its 64, ((x - h) / 2 + h) >> shift.
struct KnownWholeDivisor {
  std::uint64_t factor;
  int shift;
  bool adds;
};

/// For d > 1 that is no power of two, and 0 ≤ x < 2^64; `up_to_half`: x ≤ 2^63, which never adds. (Granlund and Montgomery, Division by invariant integers using multiplication, PLDI 1994)
KnownWholeDivisor known_whole_divisor(std::uint64_t d, bool up_to_half);

extern template std::optional<KnownDivisor<float>> known_divisor(float);
extern template std::optional<KnownDivisor<double>> known_divisor(double);

}  // namespace apsis::detail
