#pragma once

#include <bit>
#include <cstddef>
#include <iterator>

#include "ops/math/model.hpp"

// Values of a model with operators, so that the functions read as formulas.
namespace apsis::detail::math {

template <Model M>
struct Mask {
  [[no_unique_address]] M m;
  typename M::B v;

  friend Mask operator&(Mask a, Mask b) { return {a.m, a.m.and_(a.v, b.v)}; }
  friend Mask operator|(Mask a, Mask b) { return {a.m, a.m.or_(a.v, b.v)}; }
  friend Mask operator!(Mask a) { return {a.m, a.m.not_(a.v)}; }
};

/// An integer of the width of the float; arithmetic wraps.
template <Model M>
struct Integer {
  using Scalar = IntegerOf<typename M::Scalar>;
  [[no_unique_address]] M m;
  typename M::I v;

  friend Integer operator+(Integer a, Integer b) { return {a.m, a.m.add(a.v, b.v)}; }
  friend Integer operator-(Integer a, Integer b) { return {a.m, a.m.sub(a.v, b.v)}; }
  friend Integer operator&(Integer a, Integer b) { return {a.m, a.m.and_(a.v, b.v)}; }
  friend Integer operator|(Integer a, Integer b) { return {a.m, a.m.or_(a.v, b.v)}; }
  friend Integer operator^(Integer a, Integer b) { return {a.m, a.m.xor_(a.v, b.v)}; }
  friend Integer operator+(Integer a, Scalar b) { return a + Integer{a.m, a.m.integer(b)}; }
  friend Integer operator-(Integer a, Scalar b) { return a - Integer{a.m, a.m.integer(b)}; }
  friend Integer operator-(Scalar a, Integer b) { return Integer{b.m, b.m.integer(a)} - b; }
  friend Integer operator&(Integer a, Scalar b) { return a & Integer{a.m, a.m.integer(b)}; }
  friend Integer operator|(Integer a, Scalar b) { return a | Integer{a.m, a.m.integer(b)}; }
  friend Integer operator^(Integer a, Scalar b) {
    return a ^ Integer { a.m, a.m.integer(b) };
  }
  friend Integer operator<<(Integer a, int n) { return {a.m, a.m.shl(a.v, n)}; }
  friend Integer operator>>(Integer a, int n) { return {a.m, a.m.lshr(a.v, n)}; }
  friend Mask<M> operator==(Integer a, Scalar b) { return {a.m, a.m.eq(a.v, a.m.integer(b))}; }
};

/// A float value. Mixed operations take a constant of the format.
template <Model M>
struct Real {
  using Scalar = typename M::Scalar;
  [[no_unique_address]] M m;
  typename M::F v;

  /// A constant of the same model.
  Real constant(Scalar c) const { return {m, m.constant(c)}; }

  friend Real operator+(Real a, Real b) { return {a.m, a.m.add(a.v, b.v)}; }
  friend Real operator-(Real a, Real b) { return {a.m, a.m.sub(a.v, b.v)}; }
  friend Real operator*(Real a, Real b) { return {a.m, a.m.mul(a.v, b.v)}; }
  friend Real operator/(Real a, Real b) { return {a.m, a.m.div(a.v, b.v)}; }
  friend Real operator+(Real a, Scalar b) { return a + a.constant(b); }
  friend Real operator-(Real a, Scalar b) { return a - a.constant(b); }
  friend Real operator*(Real a, Scalar b) { return a * a.constant(b); }
  friend Real operator/(Real a, Scalar b) { return a / a.constant(b); }
  friend Real operator+(Scalar a, Real b) { return b.constant(a) + b; }
  friend Real operator-(Scalar a, Real b) { return b.constant(a) - b; }
  friend Real operator*(Scalar a, Real b) { return b.constant(a) * b; }
  friend Real operator/(Scalar a, Real b) { return b.constant(a) / b; }
  friend Real operator-(Real a) { return {a.m, a.m.neg(a.v)}; }
  friend Mask<M> operator<(Real a, Real b) { return {a.m, a.m.lt(a.v, b.v)}; }
  friend Mask<M> operator>(Real a, Real b) { return b < a; }
  friend Mask<M> operator<=(Real a, Real b) { return {a.m, a.m.le(a.v, b.v)}; }
  friend Mask<M> operator>=(Real a, Real b) { return b <= a; }
  friend Mask<M> operator==(Real a, Real b) { return {a.m, a.m.eq(a.v, b.v)}; }
  friend Mask<M> operator!=(Real a, Real b) { return !(a == b); }
  friend Mask<M> operator<(Real a, Scalar b) { return a < a.constant(b); }
  friend Mask<M> operator>(Real a, Scalar b) { return a > a.constant(b); }
  friend Mask<M> operator<=(Real a, Scalar b) { return a <= a.constant(b); }
  friend Mask<M> operator>=(Real a, Scalar b) { return a >= a.constant(b); }
  friend Mask<M> operator==(Real a, Scalar b) { return a == a.constant(b); }
  friend Mask<M> operator!=(Real a, Scalar b) { return !(a == b); }

  friend Real fma(Real a, Real b, Real c) { return {a.m, a.m.fma(a.v, b.v, c.v)}; }
  friend Real fma(Real a, Real b, Scalar c) { return fma(a, b, a.constant(c)); }
  friend Real fma(Real a, Scalar b, Real c) { return fma(a, a.constant(b), c); }
  friend Real fma(Real a, Scalar b, Scalar c) { return fma(a, a.constant(b), a.constant(c)); }
  friend Real abs(Real a) { return {a.m, a.m.abs(a.v)}; }
  friend Real square_root(Real a) { return {a.m, a.m.sqrt(a.v)}; }
  friend Real rint(Real a) { return {a.m, a.m.rint(a.v)}; }
  friend Real floor(Real a) { return {a.m, a.m.floor(a.v)}; }

  friend Real select(Mask<M> c, Real a, Real b) { return {a.m, a.m.select(c.v, a.v, b.v)}; }
  friend Real select(Mask<M> c, Real a, Scalar b) { return select(c, a, a.constant(b)); }
  friend Real select(Mask<M> c, Scalar a, Real b) { return select(c, b.constant(a), b); }
  friend Integer<M> to_bits(Real a) { return {a.m, a.m.to_bits(a.v)}; }

  /// The smaller, or larger, of a value and a bound; a NaN stays. One instruction on x86: min(bound, a).
  friend Real at_most(Real a, Scalar bound) { return select(a > bound, bound, a); }
  friend Real at_least(Real a, Scalar bound) { return select(a < bound, bound, a); }
};

template <Model M>
Real<M> from_bits(Integer<M> a) {
  return {a.m, a.m.from_bits(a.v)};
}

template <Model M>
Integer<M> select(Mask<M> c, Integer<M> a, Integer<M> b) {
  return {a.m, a.m.select(c.v, a.v, b.v)};
}

template <Model M>
Real<M> rare(Mask<M> mask, RareUnary<typename M::Scalar> slow, Real<M> x, Real<M> fast) {
  return {x.m, x.m.rare(mask.v, slow, x.v, fast.v)};
}

template <Model M>
Real<M> rare(Mask<M> mask, RareBinary<typename M::Scalar> slow, Real<M> x, Real<M> y, Real<M> fast) {
  return {x.m, x.m.rare(mask.v, slow, x.v, y.v, fast.v)};
}

/// f32 to f64 and back.
template <Model M>
Real<typename M::Wide> widen(Real<M> x) {
  return {x.m.wide(), x.m.widen(x.v)};
}

template <Model M>
Real<M> narrow(M m, Real<typename M::Wide> x) {
  return {m, m.narrow(x.v)};
}

template <class M>
inline constexpr bool is_f32 = sizeof(typename M::Scalar) == 4;

/// The layout of a float format.
template <class Scalar>
struct Format {
  using Integer = IntegerOf<Scalar>;
  static constexpr int mantissa_bits = std::numeric_limits<Scalar>::digits - 1;
  static constexpr Integer sign = std::numeric_limits<Integer>::min();
  static constexpr Integer bias = std::numeric_limits<Scalar>::max_exponent - 1;
  static constexpr Integer mantissa_mask = (Integer{1} << mantissa_bits) - 1;
  static constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
  static constexpr Scalar nan = std::numeric_limits<Scalar>::quiet_NaN();
  static constexpr Scalar smallest_normal = std::numeric_limits<Scalar>::min();
  /// Added to a value below 2^(mantissa_bits - 2), it leaves the nearest integer in the low bits.
  static constexpr Scalar shifter = static_cast<Scalar>(Integer{3} << (mantissa_bits - 1));
};

/// Magnitude of the first, sign of the second.
template <Model M>
Real<M> copysign(Real<M> magnitude, Real<M> sign) {
  constexpr auto bit = Format<typename M::Scalar>::sign;
  return from_bits((to_bits(magnitude) & ~bit) | (to_bits(sign) & bit));
}

/// Flips the sign of x where that of `sign` is negative.
template <Model M>
Real<M> with_sign_of(Real<M> x, Real<M> sign) {
  return from_bits(to_bits(x) ^ (to_bits(sign) & Format<typename M::Scalar>::sign));
}

/// c[0] + c[1] x + ... by Horner's rule: fewest operations.
template <Model M, std::size_t n>
Real<M> horner(Real<M> x, const typename M::Scalar (&c)[n]) {
  Real<M> sum = x.constant(c[n - 1]);
  for (std::size_t i = n - 1; i-- > 0;) sum = fma(sum, x, c[i]);
  return sum;
}

/// The same by Horner's rule in x^2 for the even and the odd coefficients side by side: half the latency for
/// one operation more, or none where the square is at hand.
template <Model M>
Real<M> two_way(Real<M> x, Real<M> square, const typename M::Scalar* c, std::size_t n) {
  Real<M> last = x.constant(c[n - 1]), other = x.constant(c[n - 2]);
  for (std::size_t i = n - 2; i-- > 0;) {
    const Real<M> next = fma(last, square, c[i]);
    last = other;
    other = next;
  }
  return fma(last, x, other);
}

template <Model M, std::size_t n>
Real<M> two_way(Real<M> x, Real<M> square, const typename M::Scalar (&c)[n]) {
  static_assert(n >= 3);
  return two_way(x, square, c, n);
}

template <Model M, std::size_t n>
Real<M> two_way(Real<M> x, const typename M::Scalar (&c)[n]) {
  static_assert(n >= 4);
  return two_way(x, x * x, c, n);
}

template <std::size_t n, Model M>
Real<M> estrin(const Real<M>* powers, const typename M::Scalar* c) {
  if constexpr (n == 1) {
    return powers->constant(*c);
  } else {
    constexpr std::size_t half = std::bit_ceil(n) / 2;
    return fma(estrin<n - half>(powers, c + half), powers[std::bit_width(half) - 1], estrin<half>(powers, c));
  }
}

/// The same by Estrin's scheme (1960), pairs of pairs: the least latency, for one squaring more a doubling of
/// terms.
template <Model M, std::size_t n>
Real<M> estrin(Real<M> x, Real<M> square, const typename M::Scalar (&c)[n]) {
  static_assert(n >= 3);
  Real<M> powers[std::bit_width(n - 1)] = {x, square};  // x^(2^i)
  for (std::size_t i = 2; i < std::size(powers); ++i) powers[i] = powers[i - 1] * powers[i - 1];
  return estrin<n>(powers, c);
}

/// The same with the first coefficient added last: for polynomials whose even and odd parts would round too
/// much.
template <Model M, std::size_t n>
Real<M> anchored(Real<M> x, const typename M::Scalar (&c)[n]) {
  static_assert(n >= 5);
  return fma(x, two_way(x, x * x, c + 1, n - 1), c[0]);
}

}  // namespace apsis::detail::math
