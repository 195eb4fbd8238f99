// Least squares: steps by the singular values of the scaled Jacobian, within a trust region.

#include "apsis/solve/least_squares.hpp"

#include "solve/support.hpp"

namespace apsis {

using namespace detail;

namespace {

/// The model of the cost at a point, ½ |S Vᵀ D step + u|², by the decomposition U S Vᵀ of the Jacobian with
/// its columns scaled by 1 / D.
struct Model {
  Array u, s, vt, d;
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
  const linalg::SVDResult svd = linalg::svd(j / scale, {.full_matrices = false});
  const Array length = sqrt(sum(square(r))), columns = where(lengths > 0., lengths, 1.);
  const Array cosine = largest(matmul(r, j) / columns) / where(length > 0., length, 1.);
  return {matmul(r, svd.u), svd.s, svd.vh, scale, where(finite, cosine, no_limit)};
}

/// The step of least squares with damping λ, in the coordinates of Vᵀ; what is below rounding of the largest
/// singular value has no part in it without damping.
Array damped(const Model& m, const Array& lambda, std::int64_t rows) {
  const Array least = static_cast<double>(rows) * finfo(m.s.dtype()).eps * largest(m.s);
  const Array counts = m.s > least || lambda > 0., divisor = square(m.s) + lambda;
  return where(counts && divisor > 0., -m.s * m.u / where(divisor > 0., divisor, 1.), 0.);
}
Array length(const Array& x) { return sqrt(sum(square(x))); }

/// The damping whose step has the length of the radius, within a tenth (Moré 1978, section 5).
Array damping(const Model& m, const Array& radius, const Array& before, Loc loc) {
  struct Search {
    Array lambda, low, high, far, tries;
  };
  const Array su = m.s * m.u, high = length(su) / radius;
  const Array guess = where(before > 0., before, 1e-3 * high);
  Search end = while_loop(
      [](const Search& v) { return v.far && v.tries < 10; },
      [&](const Search& v) {
        const Array lambda = where(v.lambda >= v.low && v.lambda <= v.high && v.lambda > 0., v.lambda,
                                   maximum(1e-3 * v.high, sqrt(v.low * v.high)));
        const Array divisor = square(m.s) + lambda, q = length(su / divisor), over = q - radius;
        const Array slope = -sum(square(su) / (divisor * square(divisor))) / q;
        const Array better = lambda - (q / radius) * over / slope;
        return Search{where(abs(over) < 0.1 * radius, lambda, better), maximum(v.low, lambda - over / slope),
                      where(over < 0., lambda, v.high), abs(over) >= 0.1 * radius, v.tries + 1};
      },
      Search{guess, zeros_like(high), high, array(true), count_of(0)}, {}, loc);
  return maximum(end.lambda, 0.);
}

enum class Within : std::uint8_t { Damped, Dogleg, Whole };

// State: the model (u, s, vt, d), the radius, the damping.
enum : std::size_t { U, S, Vt, D, Radius, Lambda };

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
          {m.u, m.s, m.vt, m.d, radius, zeros({}, p.dtype())},
          count_of(1),
          count_of(1)};
}

Iterate advance(const NonlinearProblem& p, const Iterate& it, const Tolerances& tol, Within method) {
  const auto& s = it.state;
  const Model m{s[U], s[S], s[Vt], s[D], {}};
  const std::int64_t rows = std::max<std::int64_t>(it.y.size(), 8);
  const Array &radius = s[Radius], zero = zeros({}, p.dtype());
  // The step in the coordinates of Vᵀ.
  const Array newton = damped(m, zero, rows), inside = length(newton) <= radius;
  Array q = newton, lambda = zero;
  if (method == Within::Damped) {
    lambda = where(inside, zero, damping(m, radius, s[Lambda], p.loc()));
    q = where(inside, newton, damped(m, lambda, rows));
  } else if (method == Within::Dogleg) {
    const Array g = m.s * m.u, curve = sum(square(m.s * g));
    const Array cauchy = -g * (sum(square(g)) / where(curve > 0., curve, 1.)), along = newton - cauchy;
    const Array far = length(cauchy) >= radius, g_length = length(g);
    // The point of the second leg on the border: |cauchy + t along| = radius.
    const Array a = sum(square(along)), b = dot(cauchy, along), c = sum(square(cauchy)) - square(radius);
    const Array t = (-b + sqrt(maximum(square(b) - a * c, 0.))) / where(a > 0., a, 1.);
    q = where(inside, newton,
              where(far, -g * (radius / where(g_length > 0., g_length, 1.)), cauchy + t * along));
  }
  const Array size = length(q), y = p.project(it.y + matmul(q, m.vt) / m.d);
  const auto r = p.residual(y);
  const Array cost = p.cost(r);
  const Array taken = p.bounded() ? matmul(m.vt, m.d * (y - it.y)) : q;
  const Array predicted = 0.5 * (sum(square(m.u)) - sum(square(m.s * taken + m.u)));
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
    Array u, s, vt, d, rest, finite;
  };
  Next next = cond(
      accepted,
      [&](const Array& at) {
        const auto [residual, jacobian] = p.residual_and_jacobian(at);
        const Model fresh = model_at(p, at, residual, jacobian, m.d);
        return Next{
            fresh.u, fresh.s, fresh.vt, fresh.d, at_rest(fresh, p, cost, tol), all(isfinite(jacobian))};
      },
      [&](const Array&) { return Next{m.u, m.s, m.vt, m.d, array(false), array(true)}; }, y);
  return {where(accepted, y, it.y),
          where(accepted, cost, it.measure),
          next.rest || small || flat,
          where(!next.finite || (!defined && (exhausted || Array(method == Within::Whole))),
                code_of(NonlinearResult::NonFinite),
                code_if(exhausted && !accepted, NonlinearResult::LineSearchFailed)),
          {next.u, next.s, next.vt, next.d, next_radius, lambda},
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
