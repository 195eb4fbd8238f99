// Fixed points: iteration, and Anderson's acceleration of it.

#include "apsis/solve/fixed_point.hpp"

#include "solve/support.hpp"

namespace apsis {

using namespace detail;

namespace {

Iterate at(const NonlinearProblem&, const Array& y, const Array& g, const Array& done,
           std::vector<Array> state, const Array& evaluations) {
  return {y,
          largest(g),
          done,
          code_if(!all(isfinite(g)), NonlinearResult::NonFinite),
          static_cast<std::vector<Array>&&>(state),
          evaluations,
          count_of(0)};
}

}  // namespace

// State: f(y) - y, and its size before.
Iterate FixedPointIteration::start(const NonlinearProblem& p, const Array& y) const {
  check_tolerances(p, rtol, atol);
  const Array g = p.residual(y);
  return at(p, y, g, all(g == 0.), {g}, count_of(1));
}
Iterate FixedPointIteration::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array y = it.y + it.state[0], g = p.residual(y);
  const Rate rate(largest(g), largest(it.state[0]));
  return at(p, y, g, within(p, rate.left_of(g), y, rtol, atol), {g}, it.evaluations + 1);
}

// State: f(y) - y; the last differences of y and of f(y) - y, [memory_size, n], 0 at first; the steps.
Iterate Anderson::start(const NonlinearProblem& p, const Array& y) const {
  check_tolerances(p, rtol, atol);
  p.check("mixing", mixing, 0, largest_option, true);
  p.check("memory_size", static_cast<double>(memory_size), 1, no_limit);
  const Array g = p.residual(y), none = zeros({memory_size, y.size()}, p.dtype());
  return at(p, y, g, within(p, g, y, rtol, atol), {g, none, none, count_of(0)}, count_of(1));
}
Iterate Anderson::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array &g = it.state[0], &moves = it.state[1], &changes = it.state[2], &count = it.state[3];
  // The shortest of the best combinations: the rows that are still 0 have no part in it.
  const Array weights = linalg::lstsq(transpose(changes), g).x;
  const Array y = it.y + mixing * g - matmul(weights, moves + mixing * changes), next = p.residual(y);
  const Array place = expand_dims(arange(memory_size) == count % memory_size, 1);
  return at(p, y, next, within(p, next, y, rtol, atol),
            {next, where(place, y - it.y, moves), where(place, next - g, changes), count + 1},
            it.evaluations + 1);
}

}  // namespace apsis
