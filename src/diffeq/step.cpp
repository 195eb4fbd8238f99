#include "diffeq/step.hpp"

#include "apsis/ops/arithmetic.hpp"

namespace apsis::detail {
namespace {

/// Σ weights[i] · slopes[i] for one leaf; empty if all weights are zero.
Array weighted(const std::vector<double>& weights, std::span<const std::vector<Array>> slopes,
               std::size_t leaf) {
  Array total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    Array term = weights[i] == 1 ? slopes[i][leaf] : weights[i] * slopes[i][leaf];
    total = total.is_empty() ? term : total + term;
  }
  return total;
}

std::vector<Array> advanced(std::span<const Array> y0, const Array& h, const std::vector<double>& weights,
                            std::span<const std::vector<Array>> slopes) {
  std::vector<Array> y(y0.begin(), y0.end());
  for (std::size_t leaf = 0; leaf < y.size(); ++leaf) {
    Array slope = weighted(weights, slopes, leaf);
    if (!slope.is_empty()) y[leaf] = y0[leaf] + h * slope;
  }
  return y;
}

}  // namespace

Step runge_kutta_step(const RungeKutta& method, const Field& field, const Array& t0, const Array& t1,
                      std::span<const Array> y0, std::span<const Array> first) {
  Step step;
  Array length = t1 - t0, h = length * field.direction;
  step.slopes.emplace_back(first.begin(), first.end());
  std::vector<Array> y;
  for (std::size_t i = 1; i < method.stages(); ++i) {
    y = advanced(y0, h, method.a[i], step.slopes);
    // The end of the step is t1 itself, not t0 + h with its rounding.
    Array t = method.c[i] == 1 ? t1 : method.c[i] == 0 ? t0 : t0 + method.c[i] * length;
    step.slopes.push_back(field(t, y));
  }
  // Where the last stage is the next first, its state is the step's end.
  step.y1 = method.first_same_as_last ? y : advanced(y0, h, method.b, step.slopes);
  for (std::size_t leaf = 0; leaf < y0.size() && !method.error.empty(); ++leaf)
    step.error.push_back(h * weighted(method.error, step.slopes, leaf));
  return step;
}

std::vector<Array> dense_output(const RungeKutta& method, const Array& theta, const Array& h,
                                std::span<const Array> y0, std::span<const std::vector<Array>> slopes) {
  std::vector<Array> y(y0.begin(), y0.end());
  std::vector<Array> weights(method.stages());
  for (std::size_t i = 0; i < method.stages(); ++i) {
    // Horner, from the highest power; a slope that no power uses has no weight.
    Array p;
    for (std::size_t d = method.dense.size(); d-- > 0;) {
      double c = method.dense[d][i];
      if (p.is_empty() && c == 0) continue;
      p = p.is_empty() ? theta * c : (c == 0 ? p : p + c) * theta;
    }
    weights[i] = p;
  }
  for (std::size_t leaf = 0; leaf < y.size(); ++leaf) {
    Array total;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i].is_empty()) continue;
      Array term = weights[i] * slopes[i][leaf];
      total = total.is_empty() ? term : total + term;
    }
    y[leaf] = y0[leaf] + h * total;
  }
  return y;
}

}  // namespace apsis::detail
