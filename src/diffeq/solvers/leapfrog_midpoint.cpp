#include "apsis/diffeq/reversible.hpp"
#include "apsis/ops/arithmetic.hpp"

namespace apsis {

StepTraits LeapfrogMidpoint::traits() const { return {.name = "LeapfrogMidpoint", .order = 2}; }

// The time and the state before. At first they are those of now, which makes the first step Euler's.
std::vector<Array> LeapfrogMidpoint::init(const SolverStart& s) const {
  std::vector<Array> state{s.t0};
  state.insert(state.end(), s.y0.begin(), s.y0.end());
  return state;
}

SolverAttempt LeapfrogMidpoint::step(const SolverStep& s) const {
  const Array h = s.slopes.length(s.state[0], s.t1);
  const std::vector<Array> slope = s.slopes(s.t0, s.y0);
  SolverAttempt step;
  for (std::size_t i = 0; i < s.y0.size(); ++i) step.y1.push_back(s.state[i + 1] + h * slope[i]);
  step.state.push_back(s.t0);
  step.state.insert(step.state.end(), s.y0.begin(), s.y0.end());
  return step;
}

}  // namespace apsis
