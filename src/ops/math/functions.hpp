#pragma once

#include "ops/math/exp.hpp"
#include "ops/math/hyperbolic.hpp"
#include "ops/math/log.hpp"
#include "ops/math/power.hpp"
#include "ops/math/trigonometric.hpp"

// Every elementary function: X(name, arity, bound in ULP for f32, for f64). Each is a template
// `Real<M> name(Real<M>...)` of this namespace; the bounds are what tests/math asserts.
#define APSIS_MATH_FUNCTIONS(X) \
  X(sqrt, 1, 0.5, 0.5)          \
  X(rsqrt, 1, 1.6, 1.6)         \
  X(exp, 1, 1.1, 1.1)           \
  X(exp2, 1, 1.0, 1.0)          \
  X(expm1, 1, 1.3, 1.3)         \
  X(log, 1, 1.0, 1.0)           \
  X(pow, 2, 1.0, 1.5)           \
  X(sin, 1, 1.8, 1.8)           \
  X(cos, 1, 1.8, 1.8)           \
  X(tanh, 1, 1.8, 1.8)

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
