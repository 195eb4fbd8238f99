#pragma once

// Definitions of the library's functions of registers: APSIS_PACK_FUNCTIONS(name, arity, machine code as in
// functions.hpp, register bytes, suffix of f32, suffix of f64).

#include "ops/math/functions.hpp"
#include "ops/math/library.hpp"
#include "ops/math/pack_model.hpp"

namespace apsis::detail::math {

template <class T, int register_bytes>
using Pack = Real<PackModel<T, register_bytes>>;
template <class T, int register_bytes>
using PackValue = typename PackModel<T, register_bytes>::F;

}  // namespace apsis::detail::math

#define APSIS_PACK_FUNCTION_1(name, T, bytes, suffix)                                   \
  [[gnu::flatten]] PackValue<T, bytes> apsis_##name##_##suffix(PackValue<T, bytes> x) { \
    return name(Pack<T, bytes>{{}, x}).v;                                               \
  }
#define APSIS_PACK_FUNCTION_2(name, T, bytes, suffix)                                   \
  [[gnu::flatten]] PackValue<T, bytes> apsis_##name##_##suffix(PackValue<T, bytes> x,   \
                                                               PackValue<T, bytes> y) { \
    return name(Pack<T, bytes>{{}, x}, Pack<T, bytes>{{}, y}).v;                        \
  }
#define APSIS_PACK_none(name, arity, bytes, suffix_f32, suffix_f64)
#define APSIS_PACK_wide(name, arity, bytes, suffix_f32, suffix_f64) \
  APSIS_PACK_FUNCTION_##arity(name, double, bytes, suffix_f64)
#define APSIS_PACK_own(name, arity, bytes, suffix_f32, suffix_f64) \
  APSIS_PACK_FUNCTION_##arity(name, float, bytes, suffix_f32)      \
      APSIS_PACK_FUNCTION_##arity(name, double, bytes, suffix_f64)
#define APSIS_PACK_FUNCTIONS(name, arity, code, bytes, suffix_f32, suffix_f64) \
  APSIS_PACK_##code(name, arity, bytes, suffix_f32, suffix_f64)
