#include "apsis/diffeq/reversible.hpp"
#include "apsis/ops/arithmetic.hpp"

namespace apsis {

StepTraits ReversibleHeun::traits() const { return {.name = "ReversibleHeun", .order = 2, .error_order = 2}; }

// The second solution, and the slope at it.
std::vector<Array> ReversibleHeun::init(const SolverStart& s) const {
  std::vector<Array> state(s.y0.begin(), s.y0.end());
  state.insert(state.end(), s.slope.begin(), s.slope.end());
  return state;
}

SolverAttempt ReversibleHeun::step(const SolverStep& s) const {
  const std::size_t n = s.y0.size();
  const Array h = s.slopes.length(s.t0, s.t1);
  std::vector<Array> second;
  for (std::size_t i = 0; i < n; ++i) second.push_back(2 * s.y0[i] - s.state[i] + h * s.state[n + i]);
  const std::vector<Array> slope = s.slopes(s.t1, second);
  SolverAttempt step;
  for (std::size_t i = 0; i < n; ++i) {
    const Array& before = s.state[n + i];
    step.y1.push_back(s.y0[i] + h * (0.5 * (before + slope[i])));
    step.error.push_back(h * (0.5 * (slope[i] - before)));
  }
  step.state = second;
  step.state.insert(step.state.end(), slope.begin(), slope.end());
  return step;
}

}  // namespace apsis
