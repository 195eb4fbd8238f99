// Minima along gradients, and along conjugate ones.

#include "apsis/solve/minimize.hpp"
#include "solve/support.hpp"

namespace apsis {

using namespace detail;

// State: the gradient, the length of the next step.
Iterate GradientDescent::start(const NonlinearProblem& p, const Array& y) const {
  p.check("learning_rate", learning_rate, 0, largest_option);
  const auto [value, gradient] = p.loss_and_gradient(y);
  const Array length =
      learning_rate > 0 ? full({}, learning_rate, p.dtype()) : 1. / maximum(norm(gradient), 1.);
  return first_minimum(p, y, value, gradient, gtol, {gradient, length});
}
Iterate GradientDescent::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array &before = it.state[0], &length = it.state[1];
  if (learning_rate > 0) {
    const Array y = p.project(it.y - length * before);
    const auto [value, gradient] = p.loss_and_gradient(y);
    const LineStep step{y, value, length, isfinite(value), count_of(1), array(no_limit)};
    return after_line_search(p, it, step, gradient, gtol, array(true), {gradient, length});
  }
  const LineStep line = search_line(p, it.y, it.measure, before, -before, length);
  const Array gradient = p.loss_and_gradient(line.y).second;
  const Array moved = line.y - it.y, curvature = dot(moved, gradient - before);
  const Array next =
      where(curvature > 0., dot(moved, moved) / where(curvature > 0., curvature, 1.), 2. * line.length);
  return after_line_search(p, it, line, gradient, gtol, array(true), {gradient, next});
}

// State: the gradient, the direction, the last length times its slope.
Iterate NonlinearCG::start(const NonlinearProblem& p, const Array& y) const {
  const auto [value, gradient] = p.loss_and_gradient(y);
  const Array first = -gradient / maximum(norm(gradient), 1.);
  return first_minimum(p, y, value, gradient, gtol, {gradient, first, dot(first, gradient)});
}
Iterate NonlinearCG::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array &before = it.state[0], &direction = it.state[1], &fall = it.state[2];
  // The first length is that by which the loss would fall as in the step before (Nocedal and Wright 3.5).
  const Array slope = dot(direction, before);
  const LineStep line = search_line(p, it.y, it.measure, before, direction,
                                    where(slope < 0., fall / where(slope < 0., slope, 1.), 1.));
  // The parabola through both ends and the slope there says where on the line the loss is least: conjugacy
  // asks for more exact a search than a fall that is enough.
  const Array rise = line.value - it.measure - slope * line.length;
  const Array best = where(rise > 0.,
                           clip(-0.5 * slope * square(line.length) / where(rise > 0., rise, 1.),
                                0.1 * line.length, 10. * line.length),
                           2. * line.length);
  const Array further = it.y + best * direction, value = p.loss(further);
  const Array use = line.accepted && value < line.value;
  LineStep taken = line;
  taken.y = where(use, further, line.y);
  taken.value = where(use, value, line.value);
  taken.length = where(use, best, line.length);
  taken.evaluations = line.evaluations + 1;
  const Array gradient = p.loss_and_gradient(taken.y).second, change = gradient - before;
  auto ratio = [](const Array& a, const Array& b) { return where(b == 0., 0., a / where(b == 0., 1., b)); };
  Array beta;
  switch (rule) {
    case ConjugateRule::PolakRibiere:
      beta = maximum(ratio(dot(gradient, change), dot(before, before)), 0.);
      break;
    case ConjugateRule::FletcherReeves:
      beta = ratio(dot(gradient, gradient), dot(before, before));
      break;
    case ConjugateRule::HestenesStiefel:
      beta = maximum(ratio(dot(gradient, change), dot(direction, change)), 0.);
      break;
    case ConjugateRule::DaiYuan:
      beta = ratio(dot(gradient, gradient), dot(direction, change));
      break;
  }
  const Array conjugate = beta * direction - gradient;
  // Downhill by a part of the steepest slope, otherwise from the gradient anew.
  const Array good = line.accepted && dot(conjugate, gradient) < -1e-4 * dot(gradient, gradient);
  const Array next = where(good, conjugate, -gradient);
  // Where nothing was found the next length is that of the first step: the last one was cut to nothing.
  const Array first_fall = -dot(gradient, gradient) / maximum(norm(gradient), 1.);
  return after_line_search(p, it, taken, gradient, gtol, all(direction == -before),
                           {gradient, next, where(line.accepted, taken.length * slope, first_fall)});
}

}  // namespace apsis
