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
  X(cbrt, 1, 1.0, 1.0)          \
  X(hypot, 2, 1.5, 1.5)         \
  X(pow, 2, 1, 1.5)             \
  X(exp, 1, 1.1, 1.1)           \
  X(exp2, 1, 1, 1)              \
  X(expm1, 1, 1.3, 1.3)         \
  X(log, 1, 1, 1)               \
  X(log2, 1, 1, 1)              \
  X(log10, 1, 1, 1)             \
  X(log1p, 1, 1.5, 1.5)         \
  X(sin, 1, 1.8, 1.8)           \
  X(cos, 1, 1.8, 1.8)           \
  X(tan, 1, 2, 2)               \
  X(asin, 1, 2, 2)              \
  X(acos, 1, 2, 2)              \
  X(atan, 1, 2, 2)              \
  X(atan2, 2, 2, 2)             \
  X(sinh, 1, 2, 2)              \
  X(cosh, 1, 2, 2)              \
  X(tanh, 1, 1.8, 1.8)          \
  X(asinh, 1, 2, 2)             \
  X(acosh, 1, 2, 2)             \
  X(atanh, 1, 2, 2)             \
  X(logistic, 1, 2, 2)          \
  X(erf, 1, 2, 2)               \
  X(erfc, 1, 2, 2)              \
  X(erf_inv, 1, 2, 2)           \
  X(lgamma, 1, 2, 2)            \
  X(digamma, 1, 2, 2)           \
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
