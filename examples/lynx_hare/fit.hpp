#pragma once

#include "model.hpp"

namespace lynx_hare {

constexpr int parameter_count = 8;

struct Fit {
  Parameters parameters;           // logarithms
  double value = 0;                // negative log likelihood
  std::vector<double> covariance;  // of the parameters, 8 × 8, the inverse of the Hessian
  int starts = 0, reached = 0, failed = 0;
  double standard_error(int i) const;
};

/// Maximum likelihood from 64 starts, each parameter off by a factor 10^u, u uniform in [-1, 1]; the best is
/// polished.
Fit fit_from_starts(const Array& years, const Array& log_counts);
void print_estimates(const Fit& fit);

Hybrid train_hybrid(Hybrid model, const Array& years, const Array& log_counts);

/// Data, fit with band, hybrid, forecast.
void plot(const char* path, const Fit& fit, const Fit& short_fit, const Hybrid& hybrid, const Array& years,
          const Array& counts, std::int64_t known);

}  // namespace lynx_hare
