#include "ops/nan_flow.hpp"

#include <algorithm>

#include "ops/table.hpp"

namespace apsis::detail {

bool spreads_nan(const Op& op) {
  // Not among them: what compares or chooses; pow (1 to the power of anything is 1), integer_pow (to the
  // power of 0), hypot (an infinite side); contractions, whose libraries may skip zeros.
  static constexpr const Op* spreading[] = {
      &abs_op,         &acos_op,          &acosh_op,       &add_op,
      &asin_op,        &asinh_op,         &atan_op,        &atan2_op,
      &atanh_op,       &cbrt_op,          &ceil_op,        &convert_op,
      &cos_op,         &cosh_op,          &digamma_op,     &div_op,
      &erf_op,         &erf_inv_op,       &erfc_op,        &exp_op,
      &exp2_op,        &expm1_op,         &floor_op,       &fma_op,
      &forbid_op,      &polygamma_op,     &lgamma_op,      &log_op,
      &log10_op,       &log1p_op,         &log2_op,        &logaddexp_op,
      &logistic_op,    &maximum_op,       &minimum_op,     &mul_op,
      &neg_op,         &nextafter_op,     &rem_op,         &round_op,
      &rsqrt_op,       &sign_op,          &sin_op,         &sinh_op,
      &sqrt_op,        &stop_gradient_op, &sub_op,         &tan_op,
      &tanh_op,        &trunc_op,         &reduce_max_op,  &reduce_min_op,
      &reduce_prod_op, &reduce_sum_op,    &concatenate_op, &broadcast_in_dim_op,
      &reshape_op,     &reverse_op,       &transpose_op};
  return std::ranges::find(spreading, &op) != std::end(spreading);
}

}  // namespace apsis::detail
