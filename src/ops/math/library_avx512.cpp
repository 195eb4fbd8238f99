// Functions of registers that processors with AVX-512 have: built for these, and called on no other.

#include "ops/math/pack_functions.hpp"

using namespace apsis::detail::math;

extern "C" {
#define APSIS_FUNCTIONS(name, arity, f32, f64, code) \
  APSIS_PACK_FUNCTIONS(name, arity, code, 64, f32x16, f64x8)
APSIS_MATH_FUNCTIONS(APSIS_FUNCTIONS)
}
