// Incomplete gamma and beta functions by their integrals, for what is written with them. All of f64.
#pragma once

#include <utility>

#include "apsis/core/array.hpp"

namespace apsis::special::detail {

/// P(a, x), the regularised incomplete gamma function, or Q = 1 - P, without derivatives, for finite a, x >
/// 0.
Array incomplete_gamma(const Array& a, const Array& x, bool lower);
/// x ∂P/∂x, with derivatives.
Array gamma_slope(const Array& a, const Array& x);
/// ∂/∂a of log x at constant P(a, x): the derivative of log-gamma draws with respect to their parameter
/// (Figurnov, Mohamed and Mnih 2018). x = exp(log_x) may be 0.
Array log_gamma_quantile_slope(const Array& a, const Array& log_x);

/// I(a, b, x), the regularised incomplete beta function, without derivatives, for finite a, b > 0 and x, y >
/// 0 whose sum is 1: each has the digits that the other one lacks.
Array incomplete_beta(const Array& a, const Array& b, const Array& x, const Array& y);
/// x y ∂I/∂x, with derivatives.
Array beta_slope(const Array& a, const Array& b, const Array& x, const Array& y);
/// ∂/∂a and ∂/∂b of log(x / y) at constant I(a, b, x).
std::pair<Array, Array> log_odds_quantile_slopes(const Array& a, const Array& b, const Array& x,
                                                 const Array& y);

}  // namespace apsis::special::detail
