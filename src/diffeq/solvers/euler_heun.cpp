#include "apsis/diffeq/stochastic.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "diffeq/step.hpp"

namespace apsis {

StepTraits EulerHeun::traits() const {
  return {.name = "EulerHeun",
          .order = 1,
          .takes_controls = true,
          .calculus = Calculus::Stratonovich,
          .strong_order = 0.5};
}

SolverAttempt EulerHeun::step(const SolverStep& s) const {
  SolverAttempt step{.y1 = detail::drifted(s)};
  if (!s.slopes.driven()) return step;
  const Controls w = s.slopes.increment(s.t0, s.t1).w;
  const std::vector<Array> before = s.slopes.diffusion(s.t0, s.y0, w);
  std::vector<Array> predicted;
  for (std::size_t i = 0; i < s.y0.size(); ++i) predicted.push_back(s.y0[i] + before[i]);
  const std::vector<Array> after = s.slopes.diffusion(s.t0, predicted, w);
  for (std::size_t i = 0; i < s.y0.size(); ++i) step.y1[i] = step.y1[i] + 0.5 * (before[i] + after[i]);
  return step;
}

}  // namespace apsis
