#include "apsis/diffeq/half_solver.hpp"

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/step.hpp"

namespace apsis::detail {

// What dense output needs: the state between the halves, then what each half needs.
SolverAttempt half_steps(const SolverRef& solver, const SolverStep& s) {
  const Array middle = s.t0 + 0.5 * (s.t1 - s.t0);
  const SolverAttempt whole = checked_step(solver, s);
  const SolverAttempt first = checked_step(solver, {s.slopes, s.t0, middle, s.y0, s.state, s.tolerances});
  SolverAttempt second = checked_step(solver, {s.slopes, middle, s.t1, first.y1, first.state, s.tolerances});
  SolverAttempt step{.y1 = second.y1, .dense = first.y1, .state = second.state};
  for (std::size_t i = 0; i < s.y0.size(); ++i) step.error.push_back(second.y1[i] - whole.y1[i]);
  for (const SolverAttempt* half : {&first, static_cast<const SolverAttempt*>(&second)})
    step.dense.insert(step.dense.end(), half->dense.begin(), half->dense.end());
  step.work = sum_of_work({&whole, &first, &second});
  if (!whole.failed.is_empty()) step.failed = whole.failed || first.failed || second.failed;
  return step;
}

std::vector<Array> within_halves(const SolverRef& solver, const DenseStep& s) {
  const std::size_t leaves = s.y0.size(), each = (s.dense.size() - leaves) / 2;
  const std::span<const Array> middle = s.dense.subspan(0, leaves);
  const Array h = 0.5 * s.h, theta = 2 * s.theta;
  const std::vector<Array> before =
      checked_interpolation(solver, {theta, h, s.y0, middle, s.dense.subspan(leaves, each)});
  const std::vector<Array> after =
      checked_interpolation(solver, {theta - 1, h, middle, s.y1, s.dense.subspan(leaves + each)});
  std::vector<Array> y;
  for (std::size_t i = 0; i < leaves; ++i) y.push_back(where(s.theta < 0.5, before[i], after[i]));
  return y;
}

}  // namespace apsis::detail
