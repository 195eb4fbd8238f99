// Least squares: steps by the triangle of the scaled Jacobian, within a trust region.

#include "apsis/solve/least_squares.hpp"

#include "solve/support.hpp"
#include "solve/triangular.hpp"

namespace apsis {

using namespace detail;

namespace {

Array length(const Array& x) { return sqrt(sum(square(x))); }

/// The model of the cost at a point, ½ |R D step + c|² and what no step changes, by the triangle R of the
/// Jacobian with its columns scaled by 1 / D.
struct Model {
  TriangularSystem system;
  Array d;
  Array newton;    // the step of Gauss and Newton times D, the shortest one
  Array gradient;  // scaled: its largest part as a cosine with the residual
};
/// `before`: the scales so far (empty at the start); they only grow (Moré 1978, section 7).
Model model_at(const NonlinearProblem& p, const Array& y, const Array& residual, const Array& jacobian,
               const Array& before) {
  auto [r, j] = p.scaled(residual, jacobian);
  const Array finite = all(isfinite(j)) && all(isfinite(r));
  j = where(finite, j, 0.);
  r = where(finite, r, 0.);
  if (p.bounded()) j = where(p.active(y, matmul(r, j)), 0., j);
  const Array lengths = sqrt(sum(square(j), {.axis = 0}));
  const Array scale = before.is_empty() ? where(lengths > 0., lengths, 1.) : maximum(before, lengths);
  const TriangularSystem system = triangular_system(j / scale, r);
  // What is below rounding has no part in a step without damping.
  const double least = static_cast<double>(std::max<std::int64_t>(y.size(), 8)) * finfo(j.dtype()).eps;
  const Array size = length(r), columns = where(lengths > 0., lengths, 1.);
  const Array cosine = largest(matmul(r, j) / columns) / where(size > 0., size, 1.);
  return {system, scale, shortest_solution(system, least, p.loc()), where(finite, cosine, no_limit)};
}

/// A step times D with damping λ.
struct DampedStep {
  Array q, lambda;
};
/// The one of the length of the radius, within a tenth (Moré 1978, section 5); the model's own if that is
/// shorter.
DampedStep damped_step(const Model& m, const Array& radius, const Array& before, Loc loc) {
  struct Search {
    Array q, lambda, next, low, high, far, tries;
  };
  const Array high = length(matmul(m.system.c, m.system.r)) / radius, zero = zeros_like(high);
  const Array guess = where(before > 0., before, 1e-3 * high);
  Search end = while_loop(
      [](const Search& v) { return v.far && v.tries < 10; },
      [&](const Search& v) {
        const Array lambda = where(v.next >= v.low && v.next <= v.high && v.next > 0., v.next,
                                   maximum(1e-3 * v.high, sqrt(v.low * v.high)));
        const TriangularSystem damped = damped_system(m.system, lambda);
        const Array q = -solve_triangle(damped.r, damped.c), size = length(q), over = size - radius;
        // The slope of the length by λ is -|R⁻ᵀ q|² / |q|.
        const Array slope = -sum(square(solve_triangle(damped.r, q, true))) / size;
        return Search{q,
                      lambda,
                      lambda - (size / radius) * over / slope,
                      maximum(v.low, lambda - over / slope),
                      where(over < 0., lambda, v.high),
                      abs(over) >= 0.1 * radius,
                      v.tries + 1};
      },
      Search{m.newton, zero, guess, zero, high, length(m.newton) > radius, count_of(0)}, {}, loc);
  return {end.q, end.lambda};
}

enum class Within : std::uint8_t { Damped, Dogleg, Whole };

// State: the model, the radius, the damping.
enum : std::size_t { R, C, D, Newton, Radius, Lambda };

struct Tolerances {
  double xtol, ftol, gtol;
};
Array at_rest(const Model& m, const NonlinearProblem& p, const Array& cost, const Tolerances& tol) {
  return m.gradient <= p.at_least_rounding(tol.gtol) || cost == 0.;
}

Iterate begin(const NonlinearProblem& p, const Array& y, const Tolerances& tol, double factor) {
  p.check("xtol", tol.xtol, 0, no_limit);
  p.check("ftol", tol.ftol, 0, no_limit);
  p.check("gtol", tol.gtol, 0, no_limit);
  p.check("factor", factor, 0, largest_option, true);
  const auto [r, j] = p.residual_and_jacobian(y);
  const Model m = model_at(p, y, r, j, {});
  const Array cost = p.cost(r), size = length(m.d * y);
  const Array radius = factor * where(size > 0., size, 1.);
  const Array finite = isfinite(cost) && all(isfinite(j));
  return {y,
          cost,
          finite && at_rest(m, p, cost, tol),
          code_if(!finite, NonlinearResult::NonFinite),
          {m.system.r, m.system.c, m.d, m.newton, radius, zeros({}, p.dtype())},
          count_of(1),
          count_of(1)};
}

/// The step times D from the steepest descent towards the model's own that ends within the radius.
Array dogleg(const Model& m, const Array& radius) {
  const auto& [r, c] = m.system;
  const Array g = matmul(c, r), curve = sum(square(matmul(r, g)));
  const Array cauchy = -g * (sum(square(g)) / where(curve > 0., curve, 1.)), along = m.newton - cauchy;
  const Array far = length(cauchy) >= radius, g_length = length(g);
  // The point of the second leg on the border: |cauchy + t along| = radius.
  const Array a = sum(square(along)), b = dot(cauchy, along), rest = sum(square(cauchy)) - square(radius);
  const Array t = (-b + sqrt(maximum(square(b) - a * rest, 0.))) / where(a > 0., a, 1.);
  return where(length(m.newton) <= radius, m.newton,
               where(far, -g * (radius / where(g_length > 0., g_length, 1.)), cauchy + t * along));
}

Iterate advance(const NonlinearProblem& p, const Iterate& it, const Tolerances& tol, Within method) {
  const auto& s = it.state;
  const Model m{{s[R], s[C]}, s[D], s[Newton], {}};
  const auto& [triangle, c] = m.system;
  const Array &radius = s[Radius], zero = zeros({}, p.dtype());
  DampedStep step{m.newton, zero};
  if (method == Within::Damped)
    step = damped_step(m, radius, s[Lambda], p.loc());
  else if (method == Within::Dogleg)
    step.q = dogleg(m, radius);
  const Array &q = step.q, size = length(q), y = p.project(it.y + q / m.d);
  const auto r = p.residual(y);
  const Array cost = p.cost(r);
  const Array taken = p.bounded() ? m.d * (y - it.y) : q;
  const Array predicted = 0.5 * (sum(square(c)) - sum(square(matmul(triangle, taken) + c)));
  const Array actual = it.measure - cost;
  const Array gain =
      where(predicted > 0. && isfinite(cost), actual / where(predicted > 0., predicted, 1.), 0.);
  const Array accepted = method == Within::Whole ? isfinite(cost) : gain > 1e-4;

  Array next_radius = radius;
  if (method != Within::Whole) {
    const Array least = where(isfinite(cost), 0.25, 0.1);
    const Array now = where(it.evaluations == 1, minimum(radius, size), radius);
    next_radius = where(gain < 0.25, least * minimum(now, 10. * size),
                        where(gain > 0.75, maximum(now, 2. * size), now));
  }
  const double xtol = p.at_least_rounding(tol.xtol), ftol = p.at_least_rounding(tol.ftol);
  // A short step to where the function is not finite says nothing of the solution.
  const Array defined = isfinite(cost), small = defined && size <= xtol * length(m.d * it.y);
  const Array flat = predicted <= ftol * it.measure && abs(actual) <= ftol * it.measure;
  const Array exhausted = next_radius <= p.epsilon() * length(m.d * it.y);

  struct Next {
    Array r, c, d, newton, rest, finite;
  };
  Next next = cond(
      accepted,
      [&](const Array& at) {
        const auto [residual, jacobian] = p.residual_and_jacobian(at);
        const Model fresh = model_at(p, at, residual, jacobian, m.d);
        return Next{
            fresh.system.r,         fresh.system.c, fresh.d, fresh.newton, at_rest(fresh, p, cost, tol),
            all(isfinite(jacobian))};
      },
      [&](const Array&) { return Next{triangle, c, m.d, m.newton, array(false), array(true)}; }, y);
  return {where(accepted, y, it.y),
          where(accepted, cost, it.measure),
          next.rest || small || flat,
          where(!next.finite || (!defined && (exhausted || Array(method == Within::Whole))),
                code_of(NonlinearResult::NonFinite),
                code_if(exhausted && !accepted, NonlinearResult::LineSearchFailed)),
          {next.r, next.c, next.d, next.newton, next_radius, step.lambda},
          it.evaluations + 1,
          it.derivatives + astype(accepted, i64)};
}

}  // namespace

Iterate LevenbergMarquardt::start(const NonlinearProblem& p, const Array& y) const {
  return begin(p, y, {xtol, ftol, gtol}, factor);
}
Iterate LevenbergMarquardt::step(const NonlinearProblem& p, const Iterate& it) const {
  return advance(p, it, {xtol, ftol, gtol}, Within::Damped);
}
Iterate Dogleg::start(const NonlinearProblem& p, const Array& y) const {
  return begin(p, y, {xtol, ftol, gtol}, factor);
}
Iterate Dogleg::step(const NonlinearProblem& p, const Iterate& it) const {
  return advance(p, it, {xtol, ftol, gtol}, Within::Dogleg);
}
Iterate GaussNewton::start(const NonlinearProblem& p, const Array& y) const {
  return begin(p, y, {xtol, ftol, gtol}, 1);
}
Iterate GaussNewton::step(const NonlinearProblem& p, const Iterate& it) const {
  return advance(p, it, {xtol, ftol, gtol}, Within::Whole);
}

}  // namespace apsis
