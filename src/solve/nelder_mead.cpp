// The downhill simplex.

#include "apsis/ops/sort.hpp"
#include "apsis/solve/minimize.hpp"
#include "apsis/transform/vmap.hpp"
#include "solve/support.hpp"

namespace apsis {

using namespace detail;

namespace {

/// What is not finite is worse than everything.
Array ranked(const Array& values) { return where(isnan(values), no_limit, values); }
Array losses(const NonlinearProblem& p, const Array& points) {
  return ranked(vmap([&](const Array& y) { return p.loss(y); })(points));
}

}  // namespace

// State: the corners [n + 1, n] and their losses, the best one first.
Iterate NelderMead::start(const NonlinearProblem& p, const Array& y) const {
  p.check("xatol", xatol, 0, no_limit);
  p.check("fatol", fatol, 0, no_limit);
  const std::int64_t n = y.size();
  // Corners as SciPy's: 5% along each axis, or 0.00025 from 0.
  const Array edges = where(y == 0., 0.00025, 0.05 * y);
  const Array points = concatenate({expand_dims(y, 0), y + eye(n, -1, 0, p.dtype()) * edges});
  const Array values = losses(p, points), order = argsort(values);
  const Array finite = isfinite(values[0]);
  return {take(points, order, 0)[0],
          min(values),
          array(n == 0),
          code_if(!finite, NonlinearResult::NonFinite),
          {take(points, order, 0), take(values, order, 0)},
          count_of(n + 1),
          count_of(0)};
}
Iterate NelderMead::step(const NonlinearProblem& p, const Iterate& it) const {
  const Array &points = it.state[0], &values = it.state[1];
  const std::int64_t n = points.shape()[1];
  const double size = static_cast<double>(n);
  const double expand = 1 + 2 / size, contract = 0.75 - 0.5 / size, shrink = 1 - 1 / size;
  const Array &best = values[0], &worst = values[-1], &second = values[n > 1 ? n - 1 : 0];
  const Array centre = mean(points[range(0, n)], {.axis = 0}), along = centre - points[-1];
  auto point = [&](double factor) { return centre + factor * along; };
  const Array reflected = point(1), f_reflected = ranked(p.loss(reflected));
  const Array expands = f_reflected < best, keeps = f_reflected < second || expands;
  const Array outside = f_reflected < worst;
  const Array other = where(expands, point(expand), where(outside, point(contract), point(-contract)));
  const Array f_other = ranked(p.loss(other));
  const Array use_other =
      where(expands, f_other < f_reflected, where(outside, f_other <= f_reflected, f_other < worst));
  const Array shrinks = !keeps && !use_other;
  const Array take_other = use_other && (expands || !keeps);
  struct Simplex {
    Array points, values, evaluations;
  };
  const Array last = expand_dims(arange(n + 1) == n, 1);
  const Simplex next = cond(
      shrinks,
      [&](const Array& all_points) {
        const double keep = n > 1 ? shrink : 0.5;
        const Array moved = all_points[0] + keep * (all_points - all_points[0]);
        return Simplex{moved, losses(p, moved), it.evaluations + 2 + (n + 1)};
      },
      [&](const Array& all_points) {
        return Simplex{where(last, where(take_other, other, reflected), all_points),
                       where(arange(n + 1) == n, where(take_other, f_other, f_reflected), values),
                       it.evaluations + 2};
      },
      points);
  const Array order = argsort(next.values);
  const Array corners = take(next.points, order, 0), found = take(next.values, order, 0);
  const Array near = largest(corners - corners[0]) <= xatol, flat = largest(found - found[0]) <= fatol;
  return {corners[0],       found[0],         near && flat,  count_of(0),
          {corners, found}, next.evaluations, it.derivatives};
}

}  // namespace apsis
