// Quantiles without keeping observations: R. Jain and I. Chlamtac, "The P² algorithm for dynamic calculation
// of quantiles and histograms without storing observations", CACM 28 (1985). Elementwise.

#include "apsis/stats/running.hpp"

#include "apsis/control/scan.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/ops/sort.hpp"
#include "stats/running_support.hpp"

namespace apsis::stats {
using namespace running;
namespace {

/// Five markers: how high they are and where.
struct Markers {
  std::vector<Array> q, n;
};

/// Where marker i would be after `count` observations (box 1 of the paper).
Array desired(int i, const Array& p, const Array& count) {
  const Array fractions[] = {zeros_like(p), 0.5 * p, p, 0.5 * (1. + p), ones_like(p)};
  return 1. + (count - 1.) * fractions[i];
}

/// Moves marker i towards its place by one, if there is room (box 3: along the parabola through three
/// markers, or the line to the next where the parabola leaves the order).
void adjust(Markers& m, int i, const Array& wanted) {
  std::vector<Array>&q = m.q, &n = m.n;
  const Array off = wanted - n[i], up = n[i + 1] - n[i], down = n[i - 1] - n[i];
  const Array rises = off >= 1. && up > 1., falls = off <= -1. && down < -1.;
  const Array d = where(rises, 1., where(falls, -1., 0.));
  const Array parabola =
      q[i] + d / (up - down) * ((d - down) * (q[i + 1] - q[i]) / up + (up - d) * (q[i] - q[i - 1]) / -down);
  const Array line = q[i] + d * where(rises, (q[i + 1] - q[i]) / up, (q[i - 1] - q[i]) / down);
  const Array moved = where(q[i - 1] < parabola && parabola < q[i + 1], parabola, line);
  q[i] = where(d != 0., moved, q[i]);
  n[i] = n[i] + d;
}

Markers with_observation(Markers m, const Array& x, const Array& p, const Array& count) {
  // Markers above the cell of x move on by one.
  for (int i = 1; i < 4; ++i) m.n[i] = m.n[i] + where(x < m.q[i], 1., 0.);
  m.n[4] = m.n[4] + 1.;
  m.q[0] = minimum(m.q[0], x);
  m.q[4] = maximum(m.q[4], x);
  for (int i = 1; i < 4; ++i) adjust(m, i, desired(i, p, count));
  return m;
}

}  // namespace

RunningQuantile running_quantile(const Array& p, const Shape& shape, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_floating("running_quantile", dtype);
  if (p.is_empty() || p.ndim() != 0 || is_complex(p.dtype()))
    fail(messages::running_p, {p.is_empty() ? "empty" : to_string(p.aval())}, loc);
  Shape markers = shape;
  markers.insert(0, 5);
  Shape column{5};
  for (std::size_t i = 0; i < shape.size(); ++i) column.push_back(1);
  const Array which = astype(p, f64);
  return {where(which >= 0. && which <= 1., which, no_number), std::int64_t{0},
          full(markers, std::numeric_limits<double>::infinity(), dtype),
          broadcast_to(reshape(arange(1., 6.), column), markers)};
}

RunningQuantile RunningQuantile::add(const Array& x, Loc loc) const {
  const LocScope place(loc);
  const Array one = observation("RunningQuantile", x, heights[0]);
  const Array more = count + std::int64_t{1};
  // The first five are kept in order; the last place is free for the next.
  const Array first = sort(concatenate({heights[range(0, 4)], expand_dims(one, 0)}), 0);
  const Array starts = count < 5, bad = isnan(one) || isnan(heights[0]) || isnan(p);
  // In f64, whatever the dtype: counts grow. Markers that are not there yet are not computed with.
  const Array there = where(starts, positions, astype(heights, f64));
  const Markers moved =
      with_observation({unstack(there), unstack(positions)}, astype(one, f64), p, astype(more, f64));
  const Array later = astype(stack(moved.q), heights.dtype());
  return {p, more, where(bad, no_number, where(starts, first, later)),
          where(starts, positions, stack(moved.n))};
}

RunningQuantile RunningQuantile::add_rows(const Array& xs, Loc loc) const {
  const LocScope place(loc);
  const Array rows = observations("RunningQuantile", xs, heights[0]);
  return fori_loop(
      0, rows.dim(0), [&](const Array& i, const RunningQuantile& s) { return s.add(rows[i]); }, *this);
}

Array RunningQuantile::value(Loc loc) const {
  const LocScope place(loc);
  // Of up to five: on the line between two of them.
  const Array few = clip(count, 1, 5) - 1, at = astype(few, f64) * p;
  const Array below = clip(astype(floor(at), i64), 0, 3);
  const Array part = astype(at - astype(below, f64), heights.dtype()), low = heights[below];
  const Array exact = low + (where(part == 0., low, heights[below + 1]) - low) * part;
  return where(count == 0, no_number, where(count <= 5, exact, heights[2]));
}

}  // namespace apsis::stats
