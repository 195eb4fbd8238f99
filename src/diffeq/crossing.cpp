#include "diffeq/crossing.hpp"

#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/control/implicit.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/jvp.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/constant.hpp"

namespace apsis::detail {
namespace {

/// A step is looked at in so many parts.
constexpr std::int64_t parts = 4;
/// No bracket of a double is halved more often than that.
constexpr std::int64_t most_halvings = 64;

/// A condition at a point, and its slope in theta.
struct Sample {
  Array value, slope;
};
std::vector<Sample> sample(const AlongStep& along, const Array& theta) {
  const auto conditions = [&](const Array& at) {
    std::vector<Array> values;
    for (std::size_t e : along.events()) values.push_back(along.value(e, at));
    return values;
  };
  const auto [values, slopes] = jvp(conditions, theta, ones_like(theta));
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < values.size(); ++i) samples.push_back({values[i], slopes[i]});
  return samples;
}
Sample sample_one(const AlongStep& along, std::size_t event, const Array& theta) {
  const auto condition = [&](const Array& at) { return along.value(event, at); };
  const auto [value, slope] = jvp(condition, theta, ones_like(theta));
  return {value, slope};
}

Array differ(const Array& a, const Array& b) { return (a < 0) != (b < 0); }

/// An interval in which a condition changes its sign. Where `low` is a zero that does not count (`divided`)
/// it is the condition over theta - low that changes its sign: at `low` that is the slope.
struct Bracket {
  Array found, low, high, at_low, at_high, divided;
};

/// Between two points of the same sign a condition may touch the other: where it goes towards 0 at the first
/// and away from it at the second. Halves the interval around its extremum as long as the tangents at both
/// ends reach 0 within, until it is seen on the other side.
struct Dip {
  Array goes_on, below, low, high;
  Sample at_low, at_high, inner;
  Array at, count;
};
Bracket within_dip(const AlongStep& along, std::size_t event, const Array& sign, const Array& from,
                   const Array& to, const Sample& left, const Sample& right, const Array& candidate) {
  const auto reaches = [&](const Sample& at, const Array& width) {
    return sign * at.value <= abs(at.slope) * width;
  };
  const auto halve = [&](const Dip& d) {
    const Array middle = 0.5 * (d.low + d.high);
    const Sample s = sample_one(along, event, middle);
    const Array below = sign * s.value<0, leaves = sign * s.slope> 0;
    Dip n = d;
    n.low = where(leaves, d.low, middle);
    n.high = where(leaves, middle, d.high);
    n.at_low = {where(leaves, d.at_low.value, s.value), where(leaves, d.at_low.slope, s.slope)};
    n.at_high = {where(leaves, s.value, d.at_high.value), where(leaves, s.slope, d.at_high.slope)};
    n.inner = s;
    n.at = middle;
    n.below = below;
    n.count = d.count + 1;
    const Array width = n.high - n.low;
    n.goes_on = !below && reaches(n.at_low, width) && reaches(n.at_high, width) && n.count < most_halvings;
    return n;
  };
  const Array width = to - from;
  const Dip begin{candidate && reaches(left, width) && reaches(right, width),
                  Array(false),
                  from,
                  to,
                  left,
                  right,
                  left,
                  from,
                  array(std::int64_t{0})};
  const Dip d = while_loop([](const Dip& s) { return s.goes_on; }, halve, begin, {.kind = Loop::Lax});
  // Of both crossings the one that counts.
  const Crossing direction = along.event(event).direction;
  const Array first = direction == Crossing::Either ? Array(true)
                      : direction == Crossing::Down ? sign > 0
                                                    : sign < 0;
  return {d.below,
          where(first, from, d.at),
          where(first, d.at, to),
          where(first, left.value, d.inner.value),
          where(first, d.inner.value, right.value),
          Array(false)};
}

/// Ridders' method (A new algorithm for computing a single root of a real continuous function, IEEE Trans.
/// Circuits Syst. 26, 1979): each iteration at least halves the bracket, and near a simple root it converges
/// quadratically.
struct Rooting {
  Array low, high, at_low, at_high, at, done, count;
};
Array root_in(const AlongStep& along, std::size_t event, const Bracket& b) {
  const Array resolution = along.resolution(event);
  const auto function = [&](const Array& theta) {
    return along.value(event, theta) / where(b.divided, theta - b.low, 1.);
  };
  const auto better = [&](const Rooting& r) {
    const Array middle = r.low + 0.5 * (r.high - r.low), at_middle = function(middle);
    const Array root = sqrt(at_middle * at_middle - r.at_low * r.at_high);
    const Array step = (middle - r.low) * (at_middle / root);
    const Array proposed = where(r.at_low < 0, middle - step, middle + step);
    const Array at = where(proposed > r.low && proposed < r.high, proposed, middle);
    const Array value = function(at);
    const Array before = at < middle, left = where(before, at, middle), right = where(before, middle, at);
    const Array at_left = where(before, value, at_middle), at_right = where(before, at_middle, value);
    const Array in_left = differ(r.at_low, at_left), in_middle = differ(at_left, at_right);
    Rooting n;
    n.low = where(in_left, r.low, where(in_middle, left, right));
    n.at_low = where(in_left, r.at_low, where(in_middle, at_left, at_right));
    n.high = where(in_left, left, where(in_middle, right, r.high));
    n.at_high = where(in_left, at_left, where(in_middle, at_right, r.at_high));
    n.at = at;
    n.count = r.count + 1;
    n.done = n.high - n.low <= resolution || n.count >= most_halvings;
    if (!along.is_boolean(event)) n.done = n.done || value == 0 || abs(at - r.at) <= resolution;
    return n;
  };
  const Rooting begin{
      b.low, b.high, b.at_low, b.at_high, b.high, !b.found || b.low == b.high, array(std::int64_t{0})};
  const Rooting end =
      while_loop([](const Rooting& r) { return !r.done; }, better, begin, {.kind = Loop::Lax});
  // A boolean holds behind its crossing.
  return along.is_boolean(event) ? end.high : end.at;
}

/// What counts as crossing from a side.
Array counts_from(const AlongStep& along, std::size_t event, const Array& sign) {
  const Crossing direction = along.is_boolean(event) ? Crossing::Up : along.event(event).direction;
  return direction == Crossing::Either ? sign != 0 : direction == Crossing::Up ? sign < 0 : sign > 0;
}

struct Scan {
  Array part, left;
  std::vector<Array> sign, at_zero;
  std::vector<Sample> at_left;
  std::vector<Bracket> brackets;
  Array any;
};

/// Looks at `from` itself: what is on the other side already crosses there.
Scan begin_scan(const AlongStep& along, const Array& from, const std::vector<Array>& sign,
                const std::vector<Array>& at_zero) {
  Scan s{array(std::int64_t{0}), from, sign, at_zero, sample(along, from), {}, Array(false)};
  const std::vector<std::size_t>& events = along.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t e = events[i];
    const Sample& at = s.at_left[i];
    const Array other = !at_zero[e] && sign[e] * at.value < 0;
    const Array crosses = other && counts_from(along, e, sign[e]);
    // The sign behind a zero is that of the slope there.
    s.sign[e] =
        where(at_zero[e] && sign[e] == 0, apsis::sign(at.slope), where(other && !crosses, -sign[e], sign[e]));
    s.brackets.push_back({crosses, from, from, at.value, at.value, Array(false)});
    s.any = s.any || crosses;
  }
  return s;
}

Scan next_part(const AlongStep& along, const Array& from, const Scan& s) {
  Scan n = s;
  n.part = s.part + 1;
  const Array to = where(n.part >= parts, ones_like(from),
                         from + (1 - from) * (n.part * (1. / static_cast<double>(parts))));
  n.left = to;
  n.at_left = sample(along, to);
  const std::vector<std::size_t>& events = along.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t e = events[i];
    const Array& sign = s.sign[e];
    const Sample &left = s.at_left[i], &right = n.at_left[i];
    const Array counts = counts_from(along, e, sign);
    Bracket b{counts && sign * right.value < 0,
              s.left,
              to,
              where(s.at_zero[e], left.slope, left.value),
              where(s.at_zero[e], right.value / (to - s.left), right.value),
              s.at_zero[e]};
    // A zero at the left end that does count is the crossing.
    b.high = where(!s.at_zero[e] && left.value == 0, s.left, b.high);
    if (!along.is_boolean(e)) {
      const Array candidate =
          sign * left.value > 0 && sign * right.value > 0 && sign * left.slope < 0 && sign * right.slope > 0;
      const Bracket dip = within_dip(along, e, sign, s.left, to, left, right, candidate);
      b = {b.found || dip.found,
           where(dip.found, dip.low, b.low),
           where(dip.found, dip.high, b.high),
           where(dip.found, dip.at_low, b.at_low),
           where(dip.found, dip.at_high, b.at_high),
           b.divided && !dip.found};
      // Up and down within the part: the sign before the crossing that counts is not always that at its left.
      if (along.event(e).direction != Crossing::Either)
        n.sign[e] = where(dip.found, along.event(e).direction == Crossing::Up ? -1. : 1., sign);
    }
    n.sign[e] = where(b.found, n.sign[e], where(right.value == 0, sign, apsis::sign(right.value)));
    n.at_zero[e] = Array(false);
    n.brackets[i] = b;
    n.any = n.any || b.found;
  }
  return n;
}

}  // namespace

Array condition_value(const Problem& p, std::size_t event, const Array& t, std::span<const Array> y) {
  const Array value =
      p.options.events[event].condition.function()(p.like.tree, t * p.slopes.direction(), y)[0];
  if (value.dtype() == Dtype::Bool) return astype(where(value, 1., -1.), p.t0.dtype());
  return astype(value, p.t0.dtype());
}

AlongStep::AlongStep(const Problem& p, const LoopState& s, const SolverAttempt& step)
    : p_(p), s_(s), step_(step), length_(s.end - s.start), h_(length_ * p.slopes.direction()) {
  for (std::size_t i = 0; i < p.options.events.size(); ++i)
    if (p.options.events[i].condition.steady() == nullptr) events_.push_back(i);
}

std::vector<Array> AlongStep::state(const Array& theta) const {
  return checked_interpolation(p_.solver, {theta, h_, s_.y, step_.y1, step_.dense});
}

Array AlongStep::value(std::size_t event, const Array& theta) const {
  return condition_value(p_, event, time(theta), state(theta));
}

Array AlongStep::resolution(std::size_t event) const {
  const double ulp = finfo(length_.dtype()).eps;
  const Array rounding = 2 * ulp * maximum(abs(s_.start), abs(s_.end));
  return maximum(maximum(this->event(event).tolerance, rounding) / length_, ulp);
}

Found first_crossing(const AlongStep& along, const Array& from, const std::vector<Array>& sign,
                     const std::vector<Array>& at_zero) {
  const auto search = [&] {
    const Scan first = begin_scan(along, from, sign, at_zero);
    const Scan scan =
        while_loop([](const Scan& s) { return !s.any && s.part < parts; },
                   [&](const Scan& s) { return next_part(along, from, s); }, first, {.kind = Loop::Lax});
    Found f{scan.any, array(std::int64_t{-1}), ones_like(from), scan.sign};
    const std::vector<std::size_t>& events = along.events();
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Bracket& b = scan.brackets[i];
      const Array theta = where(b.found, root_in(along, events[i], b), 2.);
      const Array earlier = b.found && (theta < f.theta || f.event < 0);
      f.event = where(earlier, static_cast<std::int64_t>(events[i]), f.event);
      f.theta = where(earlier, theta, f.theta);
    }
    for (std::size_t e : events)
      f.sign[e] = where(f.event == static_cast<std::int64_t>(e), -scan.sign[e], scan.sign[e]);
    return f;
  };
  return without_derivative(search);
}

Array differentiable_theta(const AlongStep& along, const Found& found) {
  const Array constant = stop_gradient(found.theta);
  const auto equation = [&](const Array& theta) {
    Array value = theta - constant;
    for (std::size_t e : along.events())
      if (!along.is_boolean(e))
        value = where(found.event == static_cast<std::int64_t>(e), along.value(e, theta), value);
    return value;
  };
  return custom_root(
      equation, constant, [](const auto&, const Array& start) { return start; },
      [](const auto& slope, const Array& x) { return x / slope(ones_like(x)); });
}

}  // namespace apsis::detail
