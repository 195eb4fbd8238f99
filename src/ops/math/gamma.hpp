#pragma once

#include "ops/math/log.hpp"
#include "ops/math/rare.hpp"

// log |gamma| and its derivative. For x >= 5/2 Stirling's series, its remainder fitted as a polynomial in
// 1/x^2; below, a polynomial on [1, 5/2] times the zeros, reached from x < 1 by one step of the recurrence.
// Large terms are pairs. Negative numbers go to rare_gamma.cpp. f32 is computed in f64.
namespace apsis::detail::math {

struct GammaConstants {
  static constexpr double ln2_high = 0x1.62e42fefa39efp-1, ln2_low = 0x1.abc9e3b39803fp-56;
  static constexpr double half_log_two_pi = 0x1.d67f1c864beb5p-1,
                          half_log_two_pi_low = -0x1.65b5a1b7ff5dfp-55;
  // lgamma(y) / ((y - 1) (y - 2)) in y - 7/4; error 2^-54.8
  static constexpr double p_lgamma[] = {
      0x1.ccf151e09cde8p-2,   -0x1.e96586307946dp-4,  0x1.6cb6251711c42p-5,  -0x1.382e176f60f1dp-6,
      0x1.1f9587f9dc7f8p-7,   -0x1.14f7c58e603abp-8,  0x1.12aa731871bc8p-9,  -0x1.160562968aad1p-10,
      0x1.1daecd1885d2p-11,   -0x1.28f25d32774d2p-12, 0x1.3777bc2b01a17p-13, -0x1.49193f1075435p-14,
      0x1.5db5e17db79dap-15,  -0x1.75a9c4ba3546dp-16, 0x1.9350d89fda5a9p-17, -0x1.b29ae9bddcfa8p-18,
      0x1.bc2032e6aea45p-19,  -0x1.e0c4a2674a591p-20, 0x1.64761d22c573fp-20, -0x1.865a1ccd4ddc5p-21,
      -0x1.511e962172479p-26, 0x1.c82ed0549a4f8p-27,  0x1.266e90c8ef885p-22, -0x1.450397918c4afp-23};
  // x (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) in 1/x^2 for x >= 5/2; error 2^-60.9
  static constexpr double p_stirling[] = {
      0x1.5555555555553p-4,  -0x1.6c16c16c06084p-9,  0x1.a01a01585f4bbp-11, -0x1.38135ce6133a4p-11,
      0x1.b9474ecf93ae3p-11, -0x1.f5adaed0b145bp-10, 0x1.9be990ba6a3adp-8,  -0x1.b2aac9cf0d5cap-6,
      0x1.f9ea599e2410dp-4,  -0x1.14cd142206553p-1,  0x1.f192d2dbcb025p+0,  -0x1.46306bb263c5ap+2,
      0x1.0dbb83a39d9c6p+3,  -0x1.a0af2aec0443bp+2};
  // the zero of digamma
  static constexpr double root = 0x1.762d86356be3fp+0, root_low = 0x1.b86a722197829p-54;
  // digamma(y) / (y - root) in y - 7/4; error 2^-53.8
  static constexpr double p_digamma[] = {
      0x1.b763ca67112ap-1,   -0x1.4e15b17372d93p-2,  0x1.41c830a320643p-3,   -0x1.510ab0e54e615p-4,
      0x1.6effaf57f6a7ep-5,  -0x1.97cc6e0b916f6p-6,  0x1.ca494717b46f5p-7,   -0x1.0335d34c2897bp-7,
      0x1.266022b5a7b2fp-8,  -0x1.4f1bf4024f709p-9,  0x1.7e0a6d128d18p-10,   -0x1.b3f903d0191bep-11,
      0x1.f1c7a55569d16p-12, -0x1.1beea32a2b222p-12, 0x1.4445e3a9642fdp-13,  -0x1.77b8e5cc352f1p-14,
      0x1.ae6355e0aa1ecp-15, -0x1.b54ea3ac81f48p-16, 0x1.ebe1dd10c3009p-17,  -0x1.d7637f547777p-17,
      0x1.16a007c56e911p-17, 0x1.aadbaf4b99f1bp-20,  -0x1.2619b74592e3dp-20, -0x1.d1619686979cap-19,
      0x1.115cdc540c5cep-19};
  // x^2 (log x - 1/(2 x) - digamma(x)) in 1/x^2 for x >= 5/2; error 2^-59.4
  static constexpr double p_asymptotic[] = {
      0x1.55555555554fcp-4, -0x1.111111108a9ep-7,  0x1.041040068b8a4p-8, -0x1.11109c7dc96fcp-8,
      0x1.f05c91ec63fa3p-8, -0x1.58302f8c0f646p-6, 0x1.4a3ddc4d97fe1p-4, -0x1.849dd73f3e084p-2,
      0x1.e1928259977e1p+0, -0x1.0f0be921e8502p+3, 0x1.eb1f3d375a513p+4, -0x1.411666930fbd5p+6,
      0x1.076873389d6fep+7, -0x1.92b66145d512ep+6};
};

/// log x for positive finite x, to 64 bits.
template <Model M>
Pair<M> log_pair(Real<M> x) {
  using C = GammaConstants;
  const auto [e, f] = reduce_binary(x);
  const auto [high, low] = log2_pair(e, f);
  const auto [product, rounding] = two_product(high, high.constant(C::ln2_high));
  return {product, fma(low, C::ln2_high, fma(high, C::ln2_low, rounding))};
}

/// log |gamma(x)|, infinite at 0 and the negative integers. Error below 0.6 (f32) and 1.8 ULP (f64) or, near
/// its negative zeros, 2^-95.
template <Model M>
Real<M> lgamma(Real<M> x) {
  if constexpr (is_f32<M>) {
    return narrow(x.m, lgamma(widen(x)));
  } else {
    using C = GammaConstants;
    using L = Format<double>;
    const Mask<M> large = x >= 2.5, below_one = x < 1.0;
    const auto [log_x, log_x_low] = log_pair(x);
    // x >= 5/2: (x - 1/2) log x - x + log(2 pi) / 2 + h(1/x^2) / x
    const Real<M> inverse = 1.0 / x;
    const auto [shift, shift_low] = two_sum(x.constant(C::half_log_two_pi), -x);
    const Real<M> stirling_low = shift_low + fma(inverse, horner(inverse * inverse, C::p_stirling),
                                                 x.constant(C::half_log_two_pi_low));
    // below: (y - 1) (y - 2) p(y - 7/4), for y = x + 1 less log x
    const Real<M> a = select(below_one, x, x - 1.0), b = select(below_one, x - 1.0, x - 2.0);
    const auto [zeros, zeros_low] = two_product(a, b);
    const Real<M> p = anchored(select(below_one, x - 0.75, x - 1.75), C::p_lgamma);
    const auto [small, small_rounding] = two_product(zeros, p);
    const Real<M> small_low = fma(zeros_low, p, small_rounding);
    const Real<M> factor = select(large, x - 0.5, select(below_one, x.constant(-1), x.constant(0)));
    const auto [product, product_rounding] = two_product(factor, log_x);
    const Real<M> product_low = fma(factor, log_x_low, product_rounding);
    const auto [sum, sum_low] = two_sum(product, select(large, shift, small));
    const Real<M> positive = sum + (sum_low + (product_low + select(large, stirling_low, small_low)));
    // x (log x - 1), where the two terms could overflow before their difference does
    const auto [slope, slope_low] = fast_two_sum(log_x, x.constant(-1));
    const Real<M> huge = fma(x, slope, x * (slope_low + log_x_low));
    const Real<M> finite = select(x < L::infinity, select(x < 0x1p60, positive, huge), x);
    return rare(x <= 0.0, rare_lgamma, x, finite);
  }
}

/// The derivative of log |gamma(x)|, NaN at 0 and the negative integers. Error below 0.6 (f32) and 1.8 ULP
/// (f64) or, near its negative zeros, 2^-95.
template <Model M>
Real<M> digamma(Real<M> x) {
  if constexpr (is_f32<M>) {
    return narrow(x.m, digamma(widen(x)));
  } else {
    using C = GammaConstants;
    using L = Format<double>;
    const Mask<M> large = x >= 2.5, below_one = x < 1.0;
    const Real<M> inverse = 1.0 / x;
    const Real<M> inverse_low = fma(-inverse, x, 1.0) * inverse;
    // x >= 5/2: log x - 1/(2 x) - g(1/x^2) / x^2
    const auto [log_x, log_x_low] = log_pair(x);
    const Real<M> square = inverse * inverse;
    const Real<M> large_low = fma(-square, horner(square, C::p_asymptotic), log_x_low);
    // below: (y - root) p(y - 7/4), for y = x + 1 less 1/x
    const auto [y, y_low] = fast_two_sum(select(below_one, x.constant(1), x.constant(0)), x);
    const Real<M> from_root = y - C::root;
    const Real<M> p = anchored((y - 1.75) + y_low, C::p_digamma);
    const auto [small, small_rounding] = two_product(from_root, p);
    const Real<M> small_low = fma(y_low - C::root_low, p, small_rounding);
    const Real<M> weight = select(large, x.constant(-0.5), select(below_one, x.constant(-1), x.constant(0)));
    const auto [sum, sum_low] = two_sum(select(large, log_x, small), weight * inverse);
    const Real<M> positive = sum + (sum_low + fma(weight, inverse_low, select(large, large_low, small_low)));
    const Real<M> finite = select(x < L::infinity, select(x < 0x1p-60, -inverse, positive), x);
    return rare(x <= 0.0, rare_digamma, x, finite);
  }
}

}  // namespace apsis::detail::math

// See functions.hpp.
#define APSIS_GAMMA_FUNCTIONS(X) \
  X(lgamma, 1, 0.6, 1.8, wide)   \
  X(digamma, 1, 0.6, 1.8, wide)
