#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

// The arithmetic the elementary functions are written in.
//
// A *model* of one float format offers a handful of primitive operations. Each is a single IEEE-754 operation
// or a single operation on integers of the same width, so every model that implements them gives the same
// bits (NaN payloads excepted). `ScalarModel` computes; the code generator has a model whose values are
// vectors of instructions. What is written once over a model is therefore equal in the evaluator and in
// compiled code.
namespace apsis::detail::math {

/// A scalar function that recomputes the few lanes on which a branch-free text is not valid.
/// Compiled code refers to it by `symbol`, which has C linkage.
template <class Scalar>
struct RareUnary {
  const char* symbol;
  Scalar (*function)(Scalar);
};

/// As RareUnary, for functions of two arguments.
template <class Scalar>
struct RareBinary {
  const char* symbol;
  Scalar (*function)(Scalar, Scalar);
};

template <class Scalar>
using IntegerOf = std::conditional_t<sizeof(Scalar) == 4, std::int32_t, std::int64_t>;

/// What a model provides. F is a float value, I a signed integer of the same width (wrapping arithmetic), B a
/// truth value. A model is copied freely. Comparisons are ordered: with a NaN they are false. A model of f32
/// also has `Wide`, a model of f64 with the same number of lanes, and `wide`, `widen`, `narrow`.
template <class M>
concept Model = std::copyable<M> &&
    requires(const M m, typename M::F f, typename M::I i, typename M::B b, typename M::Scalar s,
             IntegerOf<typename M::Scalar> k, int shift) {
  { m.constant(s) } -> std::same_as<typename M::F>;
  { m.integer(k) } -> std::same_as<typename M::I>;
  { m.add(f, f) } -> std::same_as<typename M::F>;
  { m.sub(f, f) } -> std::same_as<typename M::F>;
  { m.mul(f, f) } -> std::same_as<typename M::F>;
  { m.div(f, f) } -> std::same_as<typename M::F>;
  { m.fma(f, f, f) } -> std::same_as<typename M::F>;  // first * second + third, rounded once
  { m.neg(f) } -> std::same_as<typename M::F>;        // flips the sign bit
  { m.abs(f) } -> std::same_as<typename M::F>;        // clears the sign bit
  { m.sqrt(f) } -> std::same_as<typename M::F>;
  { m.rint(f) } -> std::same_as<typename M::F>;  // to the nearest integer, ties to even
  { m.floor(f) } -> std::same_as<typename M::F>;
  { m.lt(f, f) } -> std::same_as<typename M::B>;
  { m.le(f, f) } -> std::same_as<typename M::B>;
  { m.eq(f, f) } -> std::same_as<typename M::B>;
  { m.eq(i, i) } -> std::same_as<typename M::B>;
  { m.and_(b, b) } -> std::same_as<typename M::B>;
  { m.or_(b, b) } -> std::same_as<typename M::B>;
  { m.not_(b) } -> std::same_as<typename M::B>;
  { m.select(b, f, f) } -> std::same_as<typename M::F>;
  { m.select(b, i, i) } -> std::same_as<typename M::I>;
  { m.to_bits(f) } -> std::same_as<typename M::I>;
  { m.from_bits(i) } -> std::same_as<typename M::F>;
  { m.add(i, i) } -> std::same_as<typename M::I>;
  { m.sub(i, i) } -> std::same_as<typename M::I>;
  { m.and_(i, i) } -> std::same_as<typename M::I>;
  { m.or_(i, i) } -> std::same_as<typename M::I>;
  { m.xor_(i, i) } -> std::same_as<typename M::I>;
  { m.shl(i, shift) } -> std::same_as<typename M::I>;
  { m.lshr(i, shift) } -> std::same_as<typename M::I>;  // shifts zeros in
  // Where the mask holds, the scalar function of the arguments; elsewhere the last operand.
  { m.rare(b, RareUnary<typename M::Scalar>{}, f, f) } -> std::same_as<typename M::F>;
  { m.rare(b, RareBinary<typename M::Scalar>{}, f, f, f) } -> std::same_as<typename M::F>;
};

/// The model that computes with one float or double.
template <class T>
struct ScalarModel {
  static_assert(std::same_as<T, float> || std::same_as<T, double>);
  using Scalar = T;
  using F = T;
  using I = IntegerOf<T>;
  using B = bool;
  using Unsigned = std::make_unsigned_t<I>;
  using Wide = ScalarModel<double>;

  F constant(T x) const { return x; }
  I integer(I x) const { return x; }
  F add(F x, F y) const { return x + y; }
  F sub(F x, F y) const { return x - y; }
  F mul(F x, F y) const { return x * y; }
  F div(F x, F y) const { return x / y; }
  F fma(F x, F y, F z) const { return std::fma(x, y, z); }
  F neg(F x) const { return -x; }
  F abs(F x) const { return std::fabs(x); }
  F sqrt(F x) const { return std::sqrt(x); }
  F rint(F x) const { return std::rint(x); }
  F floor(F x) const { return std::floor(x); }
  B lt(F x, F y) const { return x < y; }
  B le(F x, F y) const { return x <= y; }
  B eq(F x, F y) const { return x == y; }
  B eq(I x, I y) const { return x == y; }
  B and_(B x, B y) const { return x && y; }
  B or_(B x, B y) const { return x || y; }
  B not_(B x) const { return !x; }
  F select(B c, F x, F y) const { return c ? x : y; }
  I select(B c, I x, I y) const { return c ? x : y; }
  I to_bits(F x) const { return std::bit_cast<I>(x); }
  F from_bits(I x) const { return std::bit_cast<F>(x); }
  I add(I x, I y) const { return static_cast<I>(Unsigned(x) + Unsigned(y)); }
  I sub(I x, I y) const { return static_cast<I>(Unsigned(x) - Unsigned(y)); }
  I and_(I x, I y) const { return x & y; }
  I or_(I x, I y) const { return x | y; }
  I xor_(I x, I y) const { return x ^ y; }
  I shl(I x, int n) const { return static_cast<I>(Unsigned(x) << n); }
  I lshr(I x, int n) const { return static_cast<I>(Unsigned(x) >> n); }
  F rare(B mask, RareUnary<T> slow, F x, F fast) const { return mask ? slow.function(x) : fast; }
  F rare(B mask, RareBinary<T> slow, F x, F y, F fast) const { return mask ? slow.function(x, y) : fast; }

  Wide wide() const { return {}; }
  double widen(F x) const { return x; }
  F narrow(double x) const { return static_cast<F>(x); }
};

static_assert(Model<ScalarModel<float>> && Model<ScalarModel<double>>);

}  // namespace apsis::detail::math
