#pragma once

#include "ops/math/error_function.hpp"
#include "ops/math/exp.hpp"
#include "ops/math/gamma.hpp"
#include "ops/math/hyperbolic.hpp"
#include "ops/math/inverse_hyperbolic.hpp"
#include "ops/math/inverse_trigonometric.hpp"
#include "ops/math/log.hpp"
#include "ops/math/power.hpp"
#include "ops/math/rounding.hpp"
#include "ops/math/trigonometric.hpp"

// Every elementary function: X(name, arity, bound in ULP for f32, for f64). Each is a template
// `Real<M> name(Real<M>...)` of this namespace; the bounds are what tests/math asserts.
#define APSIS_MATH_FUNCTIONS(X) \
  X(sqrt, 1, 0.5, 0.5)          \
  X(rsqrt, 1, 1.6, 1.6)         \
  X(cbrt, 1, 0.6, 0.6)          \
  X(hypot, 2, 0.6, 1.1)         \
  X(pow, 2, 0.6, 1.5)           \
  X(exp, 1, 1.2, 1.2)           \
  X(exp2, 1, 1, 1)              \
  X(expm1, 1, 1.7, 1.7)         \
  X(log, 1, 1, 1)               \
  X(log2, 1, 0.6, 0.6)          \
  X(log10, 1, 0.6, 0.6)         \
  X(log1p, 1, 1.7, 1.7)         \
  X(sin, 1, 1.8, 1.8)           \
  X(cos, 1, 1.8, 1.8)           \
  X(tan, 1, 1.9, 1.9)           \
  X(asin, 1, 1.4, 1.4)          \
  X(acos, 1, 1.4, 1.4)          \
  X(atan, 1, 1.4, 1.4)          \
  X(atan2, 2, 1.6, 1.6)         \
  X(sinh, 1, 1.8, 1.8)          \
  X(cosh, 1, 1.7, 1.7)          \
  X(tanh, 1, 1.9, 1.9)          \
  X(asinh, 1, 1.8, 1.8)         \
  X(acosh, 1, 1.7, 1.7)         \
  X(atanh, 1, 1.8, 1.8)         \
  X(logistic, 1, 1.9, 1.9)      \
  X(erf, 1, 1.3, 1.3)           \
  X(erfc, 1, 0.6, 1.8)          \
  X(erf_inv, 1, 1.9, 1.8)       \
  X(lgamma, 1, 0.6, 1.8)        \
  X(digamma, 1, 0.6, 1.8)       \
  X(ceil, 1, 0, 0)              \
  X(trunc, 1, 0, 0)             \
  X(fmod, 2, 0, 0)

namespace apsis::detail::math {

/// What is known of an elementary function.
struct FunctionRecord {
  const char* name;
  int arity;
  double ulp_f32, ulp_f64;
};

#define APSIS_MATH_RECORD(name, arity, f32, f64) {#name, arity, f32, f64},
inline constexpr FunctionRecord functions[] = {APSIS_MATH_FUNCTIONS(APSIS_MATH_RECORD)};
#undef APSIS_MATH_RECORD

}  // namespace apsis::detail::math
