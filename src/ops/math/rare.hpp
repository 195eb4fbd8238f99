#pragma once

#include "ops/math/model.hpp"

// The scalar functions behind rare lanes. Compiled code calls them by name, so they have C linkage.
extern "C" {
float apsis_rare_sin_f32(float);
double apsis_rare_sin_f64(double);
float apsis_rare_cos_f32(float);
double apsis_rare_cos_f64(double);
}

namespace apsis::detail::math {

template <class T>
inline constexpr RareUnary<T> rare_sin = {"apsis_rare_sin_f64", apsis_rare_sin_f64};
template <>
inline constexpr RareUnary<float> rare_sin<float> = {"apsis_rare_sin_f32", apsis_rare_sin_f32};

template <class T>
inline constexpr RareUnary<T> rare_cos = {"apsis_rare_cos_f64", apsis_rare_cos_f64};
template <>
inline constexpr RareUnary<float> rare_cos<float> = {"apsis_rare_cos_f32", apsis_rare_cos_f32};

}  // namespace apsis::detail::math
