// Steps of Rosenbrock methods.

#include <algorithm>

#include "apsis/diffeq/implicit.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/creation.hpp"
#include "diffeq/matrix_form.hpp"
#include "diffeq/step.hpp"

namespace apsis::detail {
namespace {

const Rosenbrock& table_of(const void* self) { return *static_cast<const Rosenbrock*>(self); }

/// Sums of what stages found. Of long vectors the newest goes first: then nothing of a sum can be made before
/// its last stage, where all of it is read at once, and no part is written and read again. Of short ones,
/// which stay in registers, it goes last, and the sum is ready soon after it.
Array sum_of(const std::vector<double>& weights, const std::vector<Array>& u) {
  constexpr std::int64_t length = 64;
  if (u.empty() || u[0].size() < length) return weighted(weights, u, 1, 0);
  std::vector<double> turned_weights(u.size());
  std::ranges::copy(weights, turned_weights.begin());
  std::ranges::reverse(turned_weights);
  const std::vector<Array> turned(u.rbegin(), u.rend());
  return weighted(turned_weights, turned, 1, 0);
}

SolverAttempt attempt(const void* self, const SolverStep& s) {
  const Rosenbrock& m = table_of(self);
  const Layout layout(s.y0);
  const VectorSlope slope(s.slopes, layout);
  const Array length = s.t1 - s.t0, h = length * s.slopes.direction(), y0 = layout.join(s.y0);
  const MatrixForm form(s.slopes, slope, layout, s.t0, y0);
  const MatrixFactors factors =
      MatrixFactors::of(form.structure(), form.mass() - (m.gamma * h) * form.jacobian(slope, s.t0, y0));
  // h² ∂f/∂t of the user's time is h times the forward length times the derivative in forward time.
  const Array drift = (h * length) * slope.time_derivative(s.t0, y0);

  std::vector<Array> u;
  for (std::size_t i = 0; i < m.stages(); ++i) {
    const Array change = sum_of(m.a[i], u);
    Array right = h * slope(stage_time(m.c[i], s.t0, s.t1, length), change.is_empty() ? y0 : y0 + change);
    const Array coupling = sum_of(m.coupling[i], u);
    if (!coupling.is_empty()) right = right + form.times_mass(coupling);
    if (m.d[i] != 0) right = right + m.d[i] * drift;
    u.push_back(factors.solve(m.gamma * right));
  }
  SolverAttempt step;
  step.y1 = layout.split(y0 + sum_of(m.b, u));
  if (!m.error.empty()) step.error = layout.split(sum_of(m.error, u));
  for (const std::vector<double>& row : m.dense) step.dense.push_back(sum_of(row, u));
  const Array one = array(std::int64_t{1});
  step.work = {array(static_cast<std::int64_t>(m.stages())), one, one};
  return step;
}

std::vector<Array> within(const void*, const DenseStep& s) {
  const Layout layout(s.y0);
  const Array y0 = layout.join(s.y0), y1 = layout.join(s.y1), back = 1 - s.theta;
  Array inner;
  for (std::size_t r = s.dense.size(); r-- > 0;)
    inner = inner.is_empty() ? s.dense[r] : s.dense[r] + s.theta * inner;
  return layout.split(back * y0 + s.theta * (inner.is_empty() ? y1 : y1 + back * inner));
}

}  // namespace

SolverRef rosenbrock_solver(const Rosenbrock& table) {
  const StepTraits traits{.name = table.name,
                          .order = table.order,
                          .error_order = table.error.empty() ? 0 : table.error_order,
                          .takes_mass = true};
  const auto check = [](const void* self, Loc loc) { check_table(table_of(self), loc); };
  const auto start = [](const void*, const SolverStart&) { return std::vector<Array>(); };
  return {&table, traits, check, start, attempt, within};
}

}  // namespace apsis::detail
