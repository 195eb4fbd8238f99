#pragma once

// The elementary functions that the library itself holds as machine code, of one element and of as many as
// fill a register. Programs call them where they would otherwise hold a copy each, which takes long to
// compile. Their text is that of `functions.hpp`, so their bits are those of the evaluator and of code that
// is generated.

#include <string>
#include <string_view>

// Those of many instructions: X(name, arity, how f32 is computed: in f32, `own`, or in f64, `wide`).
#define APSIS_LIBRARY_FUNCTIONS(X) \
  X(cbrt, 1, own)                  \
  X(hypot, 2, wide)                \
  X(pow, 2, wide)                  \
  X(exp, 1, own)                   \
  X(exp2, 1, own)                  \
  X(expm1, 1, own)                 \
  X(log, 1, own)                   \
  X(log2, 1, wide)                 \
  X(log10, 1, wide)                \
  X(log1p, 1, own)                 \
  X(sin, 1, own)                   \
  X(cos, 1, own)                   \
  X(tan, 1, own)                   \
  X(asin, 1, own)                  \
  X(acos, 1, own)                  \
  X(atan, 1, own)                  \
  X(atan2, 2, own)                 \
  X(sinh, 1, own)                  \
  X(cosh, 1, own)                  \
  X(tanh, 1, own)                  \
  X(asinh, 1, own)                 \
  X(acosh, 1, own)                 \
  X(atanh, 1, own)                 \
  X(logistic, 1, own)              \
  X(erf, 1, own)                   \
  X(erfc, 1, wide)                 \
  X(erf_inv, 1, own)               \
  X(lgamma, 1, wide)               \
  X(digamma, 1, wide)

namespace apsis::detail::math {

/// The C symbol of a function (`apsis_sin`) of floats of 4 or 8 bytes, so many side by side in one register
/// of at most `register_bytes`: `apsis_sin_f64x8`. It takes and returns them by value. Empty if there is
/// none.
std::string library_symbol(std::string_view name, int element_bytes, int lanes, int register_bytes);

}  // namespace apsis::detail::math
