#pragma once

// First guesses of implicit stages.

#include <vector>

namespace apsis::detail {

/// Of stage `count`: on the straight line through the slopes of the first stage and of stage `other`, whose
/// time is 1 / ratio of that of stage `count`.
inline std::vector<double> on_line(std::size_t count, std::size_t other, double ratio) {
  std::vector<double> weights(count, 0);
  weights[0] = 1 - ratio;
  weights[other] = ratio;
  return weights;
}

inline std::vector<double> difference(std::vector<double> b, const std::vector<double>& embedded) {
  for (std::size_t i = 0; i < b.size(); ++i) b[i] -= embedded[i];
  return b;
}

}  // namespace apsis::detail
