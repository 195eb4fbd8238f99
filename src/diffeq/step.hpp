#pragma once

#include "apsis/diffeq/solve.hpp"
#include "apsis/ops/arithmetic.hpp"

namespace apsis::detail {

/// The vector field in forward time: times are mapped back by `direction` (1 or -1), slopes stay as they are.
struct Field {
  VectorField field;
  Array direction;
  std::vector<Array> operator()(const Array& forward_t, std::span<const Array> y) const {
    return field.slope(field.context, forward_t * direction, y);
  }
};

/// One attempt at a step. Slopes are by stage, then leaf.
struct Step {
  std::vector<std::vector<Array>> slopes;
  std::vector<Array> y1, error;
};
/// A Runge-Kutta step from t0 to t1 (forward times). `first` is the slope at its start.
Step runge_kutta_step(const RungeKutta& method, const Field& field, const Array& t0, const Array& t1,
                      std::span<const Array> y0, std::span<const Array> first);

/// Dense output at θ in [0, 1] of a step of signed length h.
std::vector<Array> dense_output(const RungeKutta& method, const Array& theta, const Array& h,
                                std::span<const Array> y0, std::span<const std::vector<Array>> slopes);

}  // namespace apsis::detail
