#pragma once

#include "ops/math/model.hpp"

// The scalar functions behind rare lanes. Compiled code calls them by name, so they have C linkage.
extern "C" {
float apsis_rare_sin_f32(float);
double apsis_rare_sin_f64(double);
float apsis_rare_cos_f32(float);
double apsis_rare_cos_f64(double);
float apsis_rare_tan_f32(float);
double apsis_rare_tan_f64(double);
double apsis_rare_lgamma_f64(double);
double apsis_rare_digamma_f64(double);
double apsis_rare_erf_inv_f64(double);
float apsis_rare_fmod_f32(float, float);
double apsis_rare_fmod_f64(double, double);
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

template <class T>
inline constexpr RareUnary<T> rare_tan = {"apsis_rare_tan_f64", apsis_rare_tan_f64};
template <>
inline constexpr RareUnary<float> rare_tan<float> = {"apsis_rare_tan_f32", apsis_rare_tan_f32};

template <class T>
inline constexpr RareBinary<T> rare_fmod = {"apsis_rare_fmod_f64", apsis_rare_fmod_f64};
template <>
inline constexpr RareBinary<float> rare_fmod<float> = {"apsis_rare_fmod_f32", apsis_rare_fmod_f32};

inline constexpr RareUnary<double> rare_erf_inv = {"apsis_rare_erf_inv_f64", apsis_rare_erf_inv_f64};

// f32 computes these in f64.
inline constexpr RareUnary<double> rare_lgamma = {"apsis_rare_lgamma_f64", apsis_rare_lgamma_f64};
inline constexpr RareUnary<double> rare_digamma = {"apsis_rare_digamma_f64", apsis_rare_digamma_f64};

}  // namespace apsis::detail::math
