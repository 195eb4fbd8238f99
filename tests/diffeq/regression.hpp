#pragma once

// Orders from errors.

#include <cmath>
#include <cstddef>
#include <vector>

namespace apsis::testing {

/// The slope of log error over log h, by least squares; errors are those of h, h/2, h/4, ….
inline double slope_of(const std::vector<double>& errors) {
  const double n = static_cast<double>(errors.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double at = -static_cast<double>(i), error = std::log2(errors[i]);
    x += at, y += error, xx += at * at, xy += at * error;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

}  // namespace apsis::testing
