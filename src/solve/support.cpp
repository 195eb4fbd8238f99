// What the solvers share: tests of convergence, and the line search.

#include "solve/support.hpp"

namespace apsis::detail {

void check_tolerances(const NonlinearProblem& p, double rtol, double atol) {
  p.check("rtol", rtol, 0, no_limit);
  p.check("atol", atol, 0, no_limit);
}

Array largest(const Array& x) { return x.size() == 0 ? zeros({}, x.dtype()) : max(abs(x)); }
Array unit_of(const Array& x) {
  const Array size = stop_gradient(largest(x)), usable = size > 0. && isfinite(size);
  const Array unit = exp2(floor(log2(where(usable, size, 1.))));
  return where(usable && unit > 0. && isfinite(unit), unit, 1.);
}
Array safe_norm(const Array& x) {
  const Array unit = unit_of(x);
  return unit * norm(x / unit);
}

Array within(const NonlinearProblem& p, const Array& change, const Array& y, double rtol, double atol) {
  return all(abs(change) <= atol + p.at_least_rounding(rtol) * abs(y));
}

Rate::Rate(const Array& size, const Array& size_before) {
  // Near rounding the rate is one of noise: then the change itself, a thousandfold, is what counts.
  const Array rate = size / where(size_before > 0., size_before, 1.);
  factor_ = where(rate < 0.5 || size_before <= 0., 1.,
                  where(rate < 1., minimum(rate / where(rate < 1., 1. - rate, 1.), 1e3), 1e3));
}
Array Rate::left_of(const Array& change) const { return factor_ * change; }

Array free_part(const NonlinearProblem& p, const Array& y, const Array& gradient, const Array& vector) {
  return p.bounded() ? where(p.active(y, gradient), 0., vector) : vector;
}

namespace {
constexpr double sufficient_decrease = 1e-4;
constexpr std::int64_t backtracks = 40;
}  // namespace

LineStep search_line(const NonlinearProblem& p, const Array& y, const Array& value, const Array& gradient,
                     const Array& direction, const Array& first_length) {
  // What rounding of the loss hides counts as no rise.
  const Array slack = 2 * p.epsilon() * abs(value);
  const Array slope = dot(gradient, direction), promised = -first_length * slope;
  auto at = [&](const Array& length, const Array& tries) {
    const Array moved = p.project(y + length * direction), found = p.loss(moved);
    const Array enough = isfinite(found) &&
                         found <= value + sufficient_decrease * dot(gradient, moved - y) + slack &&
                         any(moved != y);
    return LineStep{moved, found, length, enough, tries, promised};
  };
  LineStep end = while_loop([](const LineStep& s) { return !s.accepted && s.evaluations < backtracks; },
                            [&](const LineStep& s) {
                              // The minimum of the parabola through both values and the slope, kept within
                              // a tenth and a half of the length (Nocedal and Wright, equation 3.57).
                              const Array rise = s.value - value - slope * s.length;
                              const Array guess = -slope * s.length / where(rise > 0., 2. * rise, 1.);
                              const Array part =
                                  where(rise > 0. && isfinite(rise), clip(guess, 0.1, 0.5), 0.5);
                              return at(s.length * part, s.evaluations + 1);
                            },
                            at(astype(first_length, p.dtype()), count_of(1)), {}, p.loc());
  end.y = where(end.accepted, end.y, y);
  end.value = where(end.accepted, end.value, value);
  return end;
}

Iterate first_minimum(const NonlinearProblem& p, const Array& y, const Array& value, const Array& gradient,
                      double gtol, std::vector<Array> state) {
  p.check("gtol", gtol, 0, no_limit);
  const Array finite = isfinite(value) && all(isfinite(gradient));
  return {y,
          value,
          finite && largest(free_part(p, y, gradient, gradient)) <= gtol,
          code_if(!finite, NonlinearResult::NonFinite),
          static_cast<std::vector<Array>&&>(state),
          count_of(1),
          count_of(1)};
}

Iterate after_line_search(const NonlinearProblem& p, const Iterate& it, const LineStep& step,
                          const Array& gradient, double gtol, const Array& steepest,
                          std::vector<Array> state) {
  const Array finite = isfinite(step.value) && all(isfinite(gradient));
  const Array size = largest(free_part(p, step.y, gradient, gradient));
  // The loss cannot fall but by rounding: the minimum, once the gradient does not fall quickly any more.
  const Array &before = it.state[0], least = maximum(abs(it.measure), p.epsilon());
  const Array size_before = largest(free_part(p, it.y, before, before));
  const Array hidden = step.promised <= p.epsilon() * least && size > 0.5 * size_before;
  const Array flat = where(step.accepted, hidden, steepest && step.promised <= 100 * p.epsilon() * least);
  const Array done = finite && (size <= gtol || flat);
  return {step.y,
          step.value,
          done,
          where(!finite, code_of(NonlinearResult::NonFinite),
                code_if(!step.accepted && steepest, NonlinearResult::LineSearchFailed)),
          static_cast<std::vector<Array>&&>(state),
          it.evaluations + step.evaluations,
          it.derivatives + 1};
}

}  // namespace apsis::detail
