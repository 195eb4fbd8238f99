// The incomplete gamma function by its integrals, for what is written with it.
#pragma once

#include "apsis/core/array.hpp"

namespace apsis::special::detail {

/// ∂/∂a of log x at constant P(a, x), the regularised incomplete gamma function: the derivative of log-gamma
/// draws with respect to their parameter (Figurnov, Mohamed and Mnih 2018). Of f64, x = exp(log_x) may be 0.
Array log_gamma_quantile_slope(const Array& a, const Array& log_x);

}  // namespace apsis::special::detail
