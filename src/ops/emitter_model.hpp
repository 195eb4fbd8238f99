#pragma once

// The code generator's model of one element: the operations of ElementModel, and of the elementary functions'
// models, each emitted as the instruction that gives the same bits.

#include <bit>
#include <concepts>
#include <cstring>

#include "apsis/core/emitter.hpp"

namespace apsis::detail {

/// A lane value whose element type is known at compile time.
template <class T>
struct Lane {
  Value v;
};

template <class T>
struct EmitterModel {
  using Scalar = T;
  using Signed =
      std::conditional_t<sizeof(T) == 1, std::int8_t,
                         std::conditional_t<sizeof(T) == 2, std::int16_t,
                                            std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>;
  using Unsigned = std::make_unsigned_t<Signed>;
  using F = Lane<T>;
  using I = Lane<Signed>;
  using B = Lane<bool>;
  using Wide = EmitterModel<double>;
  static constexpr bool is_float = std::is_floating_point_v<T>;
  static constexpr bool is_signed = std::is_signed_v<T>;

  Emitter* e;

  F constant(T x) const { return literal(x); }
  I integer(Signed x) const { return literal(x); }

  template <class U>
  Lane<U> add(Lane<U> x, Lane<U> y) const {
    return {e->add(x.v, y.v)};
  }
  template <class U>
  Lane<U> sub(Lane<U> x, Lane<U> y) const {
    return {e->sub(x.v, y.v)};
  }
  template <class U>
  Lane<U> mul(Lane<U> x, Lane<U> y) const {
    return {e->mul(x.v, y.v)};
  }
  F neg(F x) const { return {e->neg(x.v)}; }
  F abs(F x) const {
    if constexpr (is_float)
      return {e->abs(x.v)};
    else if constexpr (is_signed)
      return select(lt(x, constant(0)), neg(x), x);
    else
      return x;
  }
  F div(F x, F y) const { return {e->div(x.v, y.v)}; }
  F fma(F x, F y, F z) const { return {e->fma(x.v, y.v, z.v)}; }
  F sqrt(F x) const { return {e->sqrt(x.v)}; }
  F floor(F x) const { return {e->floor(x.v)}; }
  F ceil(F x) const { return {e->ceil(x.v)}; }
  F trunc(F x) const { return {e->trunc(x.v)}; }
  F rint(F x) const { return {e->rint(x.v)}; }
  I to_bits(F x) const { return {e->bitcast(x.v, dtype_of<Signed>)}; }
  F from_bits(I x) const { return {e->bitcast(x.v, dtype_of<T>)}; }

  F integer_div(F x, F y) const { return {e->integer_div(x.v, y.v)}; }
  F integer_rem(F x, F y) const { return {e->integer_rem(x.v, y.v)}; }
  F shift_left(F x, F n) const { return {e->shift_left(x.v, n.v)}; }
  F shift_right_arithmetic(F x, F n) const { return shift_right_as<Signed>(x, n); }
  F shift_right_logical(F x, F n) const { return shift_right_as<Unsigned>(x, n); }
  F population_count(F x) const { return {e->population_count(x.v)}; }
  F leading_zeros(F x) const { return {e->leading_zeros(x.v)}; }
  // Shifts of a float's bits by a constant.
  I shl(I x, int n) const { return {e->shift_left(x.v, literal(static_cast<Signed>(n)).v)}; }
  I lshr(I x, int n) const {
    Value unsigned_x = e->bitcast(x.v, dtype_of<Unsigned>);
    return {e->bitcast(e->shift_right(unsigned_x, literal(static_cast<Unsigned>(n)).v), dtype_of<Signed>)};
  }

  template <std::integral U>
  Lane<U> and_(Lane<U> x, Lane<U> y) const {
    return {e->bit_and(x.v, y.v)};
  }
  template <std::integral U>
  Lane<U> or_(Lane<U> x, Lane<U> y) const {
    return {e->bit_or(x.v, y.v)};
  }
  template <std::integral U>
  Lane<U> xor_(Lane<U> x, Lane<U> y) const {
    return {e->bit_xor(x.v, y.v)};
  }
  template <std::integral U>
  Lane<U> not_(Lane<U> x) const {
    return {e->bit_not(x.v)};
  }

  template <class U>
  B eq(Lane<U> x, Lane<U> y) const {
    return {e->compare(Compare::Eq, x.v, y.v)};
  }
  template <class U>
  B ne(Lane<U> x, Lane<U> y) const {
    return {e->compare(Compare::Ne, x.v, y.v)};
  }
  template <class U>
  B lt(Lane<U> x, Lane<U> y) const {
    return {e->compare(Compare::Lt, x.v, y.v)};
  }
  template <class U>
  B le(Lane<U> x, Lane<U> y) const {
    return {e->compare(Compare::Le, x.v, y.v)};
  }
  template <class U>
  B gt(Lane<U> x, Lane<U> y) const {
    return {e->compare(Compare::Gt, x.v, y.v)};
  }
  template <class U>
  B ge(Lane<U> x, Lane<U> y) const {
    return {e->compare(Compare::Ge, x.v, y.v)};
  }
  template <class U>
  Lane<U> select(B condition, Lane<U> x, Lane<U> y) const {
    return {e->select(condition.v, x.v, y.v)};
  }

  /// Lanes where `mask` holds are computed by a scalar function instead.
  template <class Rare, class... X>
  F rare(B mask, Rare slow, X... x_and_fast) const {
    const Value values[] = {x_and_fast.v...};
    constexpr std::size_t arguments = sizeof...(X) - 1;
    return {e->rare(mask.v, slow.symbol, {values, arguments}, values[arguments])};
  }

  Wide wide() const { return {e}; }
  Lane<double> widen(F x) const { return {e->convert(x.v, Dtype::F64)}; }
  F narrow(Lane<double> x) const { return {e->convert(x.v, dtype_of<T>)}; }

 private:
  template <class U>
  Lane<U> literal(U x) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof x);
    return {e->constant(dtype_of<U>, bits)};
  }
  template <class U>
  F shift_right_as(F x, F n) const {
    if constexpr (std::is_same_v<T, U>)
      return {e->shift_right(x.v, n.v)};
    else
      return {e->bitcast(e->shift_right(e->bitcast(x.v, dtype_of<U>), e->bitcast(n.v, dtype_of<U>)),
                         dtype_of<T>)};
  }
};

}  // namespace apsis::detail
