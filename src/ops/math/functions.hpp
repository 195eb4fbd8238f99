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

// Every elementary function, as its family's header lists it: X(name, arity, bound in ULP for f32, for f64,
// machine code). Each is a template `Real<M> name(Real<M>...)` of this namespace; the bounds are what
// tests/math asserts. Of functions of many instructions the library itself holds machine code (library.hpp),
// for f32 computed in f32 (`own`) or in f64 (`wide`); of the others (`none`) programs hold copies.
#define APSIS_MATH_FUNCTIONS(X)            \
  APSIS_POWER_FUNCTIONS(X)                 \
  APSIS_EXP_FUNCTIONS(X)                   \
  APSIS_LOG_FUNCTIONS(X)                   \
  APSIS_TRIGONOMETRIC_FUNCTIONS(X)         \
  APSIS_INVERSE_TRIGONOMETRIC_FUNCTIONS(X) \
  APSIS_HYPERBOLIC_FUNCTIONS(X)            \
  APSIS_INVERSE_HYPERBOLIC_FUNCTIONS(X)    \
  APSIS_ERROR_FUNCTION_FUNCTIONS(X)        \
  APSIS_GAMMA_FUNCTIONS(X)                 \
  APSIS_ROUNDING_FUNCTIONS(X)

namespace apsis::detail::math {

/// What is known of an elementary function.
struct FunctionRecord {
  const char* name;
  int arity;
  double ulp_f32, ulp_f64;
};

#define APSIS_MATH_RECORD(name, arity, f32, f64, code) {#name, arity, f32, f64},
inline constexpr FunctionRecord functions[] = {APSIS_MATH_FUNCTIONS(APSIS_MATH_RECORD)};
#undef APSIS_MATH_RECORD

}  // namespace apsis::detail::math
