// Minima by Newton steps within a trust region, on products with the Hessian.

#include "apsis/solve/minimize.hpp"
#include "solve/support.hpp"

namespace apsis {

using namespace detail;

namespace {

struct Inner {
  Array z, r, d, hz;  // the step, what is left of the equation, the direction, the Hessian times the step
  Array done, steps;
};

/// How far along d from z the border of the region is.
Array to_border(const Array& z, const Array& d, const Array& radius) {
  const Array a = dot(d, d), b = dot(z, d), c = dot(z, z) - square(radius);
  return (-b + sqrt(maximum(square(b) - a * c, 0.))) / where(a > 0., a, 1.);
}

}  // namespace

// State: the gradient, the radius.
Iterate TrustNewtonCG::start(const NonlinearProblem& p, const Array& y) const {
  p.check("first_radius", first_radius, 0, largest_option, true);
  const auto [value, gradient] = p.loss_and_gradient(y);
  return first_minimum(p, y, value, gradient, gtol, {gradient, full({}, first_radius, p.dtype())});
}
Iterate TrustNewtonCG::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array &gradient = it.state[0], &radius = it.state[1];
  const Array size = norm(gradient), enough = minimum(0.5, sqrt(size)) * size;
  const Inner end = while_loop(
      [&](const Inner& s) { return !s.done && s.steps < 2 * it.y.size() + 10; },
      [&](const Inner& s) {
        const Array hd = p.hessian_product(it.y, s.d), curvature = dot(s.d, hd), rr = dot(s.r, s.r);
        const Array alpha = rr / where(curvature > 0., curvature, 1.), z = s.z + alpha * s.d;
        const Array leaves = curvature <= 0. || norm(z) >= radius;
        const Array length = where(leaves, to_border(s.z, s.d, radius), alpha);
        const Array r = s.r + length * hd, beta = dot(r, r) / where(rr > 0., rr, 1.);
        return Inner{s.z + length * s.d,          r,          beta * s.d - r, s.hz + length * hd,
                     leaves || norm(r) <= enough, s.steps + 1};
      },
      Inner{zeros_like(gradient), gradient, -gradient, zeros_like(gradient), size == 0., count_of(0)}, {},
      p.loc());
  const Array y = it.y + end.z, value = p.loss(y);
  const Array predicted = -(dot(gradient, end.z) + 0.5 * dot(end.z, end.hz));
  // Differences of losses below rounding say nothing: there the model is believed.
  const Array hidden = 10 * p.epsilon() * abs(it.measure);
  const Array gain =
      where(isfinite(value),
            (it.measure - value + hidden) / where(predicted + hidden > 0., predicted + hidden, 1.), -1.);
  const Array accepted = gain > 1e-4 && predicted > 0., length = norm(end.z);
  const Array next_radius =
      where(gain < 0.25, 0.25 * length, where(gain > 0.75 && length > 0.99 * radius, 2. * radius, radius));
  const Array moved = where(accepted, y, it.y);
  const Array next = p.loss_and_gradient(moved).second;
  const Array finite = all(isfinite(next)) && all(isfinite(end.z));
  const Array small =
      largest(next) <= gtol || (predicted <= hidden && largest(next) > 0.5 * largest(gradient));
  const Array stuck = next_radius <= p.epsilon() * p.epsilon();
  return {
      moved,
      where(accepted, value, it.measure),
      small && finite,
      where(!finite, code_of(NonlinearResult::NonFinite), code_if(stuck, NonlinearResult::LineSearchFailed)),
      {next, next_radius},
      it.evaluations + 1,
      it.derivatives + end.steps + 1};
}

}  // namespace apsis
