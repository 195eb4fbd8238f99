#pragma once

// Texts that are functions of ops/math, and what their derivatives are written with.

#include "ops/elementwise.hpp"
#include "ops/math/functions.hpp"

/// The text of a function of one floating-point number.
#define APSIS_ELEMENTARY(Text, function_)                            \
  struct Text : Unary {                                              \
    static constexpr const char* name = #function_;                  \
    static constexpr DtypeSet dtypes = float_dtypes;                 \
    static constexpr bool elementary = true;                         \
    static constexpr const char* library_name = "apsis_" #function_; \
    template <class M>                                               \
    static auto compute(const M& m, auto x) {                        \
      return math::function_(math::Real<M>{m, x}).v;                 \
    }                                                                \
  };

/// The text of a function of two floating-point numbers; whether it is NaN where one of them is.
#define APSIS_ELEMENTARY_BINARY(Text, function_, spreads_nan_)            \
  struct Text : Binary {                                                  \
    static constexpr const char* name = #function_;                       \
    static constexpr DtypeSet dtypes = float_dtypes;                      \
    static constexpr bool elementary = true;                              \
    static constexpr const char* library_name = "apsis_" #function_;      \
    static constexpr bool spreads_nan = spreads_nan_;                     \
    template <class M>                                                    \
    static auto compute(const M& m, auto x, auto y) {                     \
      return math::function_(math::Real<M>{m, x}, math::Real<M>{m, y}).v; \
    }                                                                     \
  };

namespace apsis::detail {

inline Array apply(const Op& op, const Array& x) { return bind1(op, {}, {x}); }
inline Array squared(const Array& x) { return lax::mul(x, x); }
inline Array plus(const Array& x, double c) { return lax::add(x, constant_like(x, c)); }
/// c - x.
inline Array from_constant(double c, const Array& x) { return lax::sub(constant_like(x, c), x); }
inline Array reciprocal(const Array& x) { return lax::div(constant_like(x, 1), x); }

/// The jvp of ops of two operands: each tangent times its partial derivative, which is not computed where the
/// tangent is zero.
template <const Op& op, Array (*by_first)(const Array& x, const Array& y, const Array& result),
          Array (*by_second)(const Array& x, const Array& y, const Array& result)>
void binary_jvp(const JvpRule& r) {
  bind(op, r.params, r.primals, r.outs);
  const Array &x = r.primals[0], &y = r.primals[1];
  Array first = r.tangents[0].is_empty() ? Array{} : lax::mul(r.tangents[0], by_first(x, y, r.outs[0]));
  Array second = r.tangents[1].is_empty() ? Array{} : lax::mul(r.tangents[1], by_second(x, y, r.outs[0]));
  r.out_tangents[0] = add_tangents(first, second);
}

}  // namespace apsis::detail
