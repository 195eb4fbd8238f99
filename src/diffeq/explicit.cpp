// Explicit Runge-Kutta methods by their tables.

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "diffeq/step.hpp"

namespace apsis::detail {
namespace {

const RungeKutta& table_of(const void* self) { return *static_cast<const RungeKutta*>(self); }

std::vector<Array> advanced(std::span<const Array> y0, const Array& h, const std::vector<double>& weights,
                            std::span<const Array> slopes) {
  std::vector<Array> y(y0.begin(), y0.end());
  for (std::size_t leaf = 0; leaf < y.size(); ++leaf) {
    Array slope = weighted(weights, slopes, y.size(), leaf);
    if (!slope.is_empty()) y[leaf] = y0[leaf] + h * slope;
  }
  return y;
}

/// Without those at the end of the table that only dense output reads.
std::int64_t stages_of_step(const RungeKutta& m) {
  std::size_t count = m.stages();
  while (count > 1 && !m.first_same_as_last && m.b[count - 1] == 0 &&
         (m.error.empty() || m.error[count - 1] == 0))
    --count;
  return static_cast<std::int64_t>(count);
}

std::vector<Array> start(const void* self, const SolverStart& s) {
  if (!table_of(self).first_same_as_last) return {};
  return {s.slope.begin(), s.slope.end()};
}

SolverAttempt attempt(const void* self, const SolverStep& s) {
  const RungeKutta& method = table_of(self);
  SolverAttempt step;
  std::vector<Array>& slopes = step.dense;
  const auto append = [&](std::span<const Array> slope) {
    slopes.insert(slopes.end(), slope.begin(), slope.end());
  };
  const Array length = s.t1 - s.t0, h = length * s.slopes.direction();
  // Along controls the slope at the end of a step is not that at the start of the next.
  const bool driven = s.slopes.driven(), keeps = method.first_same_as_last && !driven;
  Controls rate;
  if (driven) rate = combined({{1. / h, s.slopes.increment(s.t0, s.t1).w}});
  const auto slope = [&](const Array& t, std::span<const Array> y) {
    return driven ? slope_along(s.slopes, t, y, rate) : s.slopes(t, y);
  };
  append(keeps ? s.state : std::span<const Array>(slope(s.t0, s.y0)));
  std::vector<Array> y;
  for (std::size_t i = 1; i < method.stages(); ++i) {
    y = advanced(s.y0, h, method.a[i], slopes);
    append(slope(stage_time(method.c[i], s.t0, s.t1, length), y));
  }
  // Where the last stage is the next first, its state is the step's end.
  step.y1 = method.first_same_as_last ? y : advanced(s.y0, h, method.b, slopes);
  for (std::size_t leaf = 0; leaf < s.y0.size() && !method.error.empty(); ++leaf)
    step.error.push_back(h * weighted(method.error, slopes, s.y0.size(), leaf));
  if (driven)
    step.state.assign(s.state.begin(), s.state.end());
  else if (keeps)
    step.state.assign(slopes.end() - static_cast<std::ptrdiff_t>(s.y0.size()), slopes.end());
  step.work.evaluations = array(stages_of_step(method) - (keeps ? 1 : 0));
  return step;
}

}  // namespace

SolverRef explicit_solver(const RungeKutta& table) {
  const StepTraits traits{.name = table.name,
                          .order = table.order,
                          .error_order = table.error.empty() ? 0 : table.order,
                          .keeps_slope = table.first_same_as_last,
                          .takes_controls = true,
                          .calculus = table.calculus,
                          .strong_order = table.strong_order};
  const auto check = [](const void* self, Loc loc) { check_table(table_of(self), loc); };
  const auto interpolate = [](const void* self, const DenseStep& s) {
    return dense_output(table_of(self).dense, s.theta, s.h, s.y0, s.dense);
  };
  return {&table, traits, check, start, attempt, interpolate};
}

}  // namespace apsis::detail
