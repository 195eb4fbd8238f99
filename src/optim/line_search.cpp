// Line searches along a direction of descent, on the leaves of the parameters.

#include <limits>

#include "apsis/control/while_loop.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/optim/lbfgs.hpp"
#include "optim/support.hpp"

namespace apsis::optim::detail {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Point {
  Array value, slope;
  std::vector<Array> gradient;
};

/// The loss on the line, in the dtype of `line.value`.
class OnLine {
 public:
  OnLine(const apsis::detail::Callee& loss, const Line& line) : loss_(loss), line_(line) {}
  Array value(const Array& length) const { return astype(loss_(params(length))[0], line_.value.dtype()); }
  Point point(const Array& length) const {
    apsis::detail::GradientCall call =
        apsis::detail::gradient_call(loss_, params(length), line_.moved, "line_search", line_.loc);
    return {astype(call.outs[0], line_.value.dtype()), slope(call.gradients), call.gradients};
  }
  Array slope(const std::vector<Array>& gradient) const {
    Array total = 0.;
    for (std::size_t i = 0; i < gradient.size(); ++i) total = total + sum(gradient[i] * line_.direction[i]);
    return astype(total, line_.value.dtype());
  }

 private:
  std::vector<Array> params(const Array& length) const {
    std::vector<Array> moved = line_.params;
    auto direction = line_.direction.begin();
    for (std::size_t i = 0; i < moved.size(); ++i) {
      if (!line_.moved[i]) continue;
      moved[i] = astype(moved[i] + like(length, moved[i]) * *direction, moved[i].dtype());
      ++direction;
    }
    return moved;
  }
  const apsis::detail::Callee& loss_;
  const Line& line_;
};

/// max(x, 0), infinite for NaN.
Array excess(const Array& x) { return where(isnan(x), infinity, maximum(x, 0.)); }
std::vector<Array> either(const Array& condition, const std::vector<Array>& a, const std::vector<Array>& b) {
  std::vector<Array> chosen;
  for (std::size_t i = 0; i < a.size(); ++i) chosen.push_back(where(condition, a[i], b[i]));
  return chosen;
}

void require(const char* rule, const char* name, const Array& value, OptionRange range, Loc loc) {
  Start({}, {}, {nullptr, nullptr}, loc).check(rule, name, value, range);
}
void require_steps(const char* rule, const char* name, std::int64_t value, std::int64_t least, Loc loc) {
  if (value < least)
    fail(messages::optimizer_option, {rule, name, std::to_string(value), std::to_string(least) + " or more"},
         loc);
}

}  // namespace

void check(const BacktrackingLineSearch& o, Loc loc) {
  const char* rule = "BacktrackingLineSearch";
  require_steps(rule, "max_backtracking_steps", o.max_backtracking_steps, 0, loc);
  require(rule, "slope_rtol", o.slope_rtol, OptionRange::NotNegative, loc);
  require(rule, "decrease_factor", o.decrease_factor, OptionRange::Positive, loc);
  require(rule, "decrease_factor", o.decrease_factor, OptionRange::Fraction, loc);
  require(rule, "increase_factor", o.increase_factor, OptionRange::Positive, loc);
  require(rule, "max_learning_rate", o.max_learning_rate, OptionRange::Positive, loc);
  require(rule, "atol", o.atol, OptionRange::NotNegative, loc);
  require(rule, "rtol", o.rtol, OptionRange::NotNegative, loc);
}
void check(const ZoomLineSearch& o, Loc loc) {
  const char* rule = "ZoomLineSearch";
  require_steps(rule, "max_linesearch_steps", o.max_linesearch_steps, 1, loc);
  require(rule, "max_learning_rate", o.max_learning_rate, OptionRange::Positive, loc);
  require(rule, "tol", o.tol, OptionRange::NotNegative, loc);
  require(rule, "increase_factor", o.increase_factor, OptionRange::Positive, loc);
  require(rule, "slope_rtol", o.slope_rtol, OptionRange::NotNegative, loc);
  require(rule, "curv_rtol", o.curv_rtol, OptionRange::NotNegative, loc);
  require(rule, "approx_dec_rtol", o.approx_dec_rtol, OptionRange::NotNegative, loc);
  require(rule, "stepsize_precision", o.stepsize_precision, OptionRange::NotNegative, loc);
}

Array scalar_like(const std::vector<Array>& params, double value) {
  Dtype most = f64;
  bool any = false;
  for (const Array& p : params) {
    if (!Start::is_trained(p)) continue;
    most = any ? std::max(most, p.dtype()) : p.dtype();
    any = true;
  }
  return full({}, value, most);
}

std::vector<Array> scaled(std::vector<Array> direction, const Array& length) {
  for (Array& x : direction)
    if (!x.is_empty()) x = like(length, x) * x;
  return direction;
}

Line line_of(std::vector<Array> params, std::vector<Array> direction, std::vector<Array> gradient,
             const Array& value, const Array& previous_length, Loc loc) {
  Line line;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].is_empty()) continue;
    line.params.push_back(params[i]);
    line.moved.push_back(!direction[i].is_empty());
    if (direction[i].is_empty()) continue;
    line.direction.push_back(direction[i]);
    line.gradient.push_back(gradient[i]);
  }
  line.value = astype(value, previous_length.dtype());
  line.previous_length = previous_length;
  line.loc = loc;
  return line;
}

Found search(const BacktrackingLineSearch& o, const apsis::detail::Callee& loss, const Line& line) {
  const OnLine on(loss, line);
  const Dtype dtype = line.value.dtype();
  const Array slope = on.slope(line.gradient);
  struct State {
    Array length, value, error, steps;
  };
  const Array most = astype(o.max_learning_rate, dtype),
              start = minimum(o.increase_factor * line.previous_length, most);
  const State end = while_loop(
      [&](const State& s) { return !(s.error <= o.atol) && s.steps <= o.max_backtracking_steps; },
      [&](const State& s) {
        const Array length = where(s.steps > 0, like(o.decrease_factor, s.length) * s.length, s.length);
        const Array value = on.value(length);
        const Array error =
            value - like(1. + o.rtol, value) * line.value - length * like(o.slope_rtol, length) * slope;
        return State{length, value, excess(error), s.steps + 1};
      },
      State{astype(start, dtype), line.value, full({}, infinity, dtype), array(std::int64_t{0})}, {},
      line.loc);
  return {where(isinf(end.error), 0, end.length), end.value, {}, end.steps, end.error, zeros({}, dtype)};
}

namespace {

struct Zoom {
  Array count, length, value, slope;
  std::vector<Array> gradient;
  Array decrease_error, curvature_error, interval_found, done, failed;
  Array low, value_low, slope_low, high, value_high, slope_high, cubic, value_cubic;
  Array safe_length, safe_value;
  std::vector<Array> safe_gradient;
};

/// The minimum of the cubic with this value and slope at a, and these values at b and c; NaN where there is
/// none.
Array cubic_minimum(const Array& a, const Array& fa, const Array& slope, const Array& b, const Array& fb,
                    const Array& c, const Array& fc) {
  const Array db = b - a, dc = c - a, divisor = square(db * dc) * (db - dc);
  const Array rb = fb - fa - slope * db, rc = fc - fa - slope * dc;
  const Array third = (square(dc) * rb - square(db) * rc) / divisor;
  const Array second = (-dc * square(dc) * rb + db * square(db) * rc) / divisor;
  return a + (-second + sqrt(second * second - 3. * third * slope)) / (3. * third);
}
/// The same of the parabola with this value and slope at a, and this value at b.
Array quadratic_minimum(const Array& a, const Array& fa, const Array& slope, const Array& b,
                        const Array& fb) {
  const Array db = b - a;
  return a - slope / (2. * ((fb - fa - slope * db) / square(db)));
}

/// The search of Zoom: steps ahead until an interval holds a good length, then within the interval.
class Zooming {
 public:
  Zooming(const ZoomLineSearch& options, const apsis::detail::Callee& loss, const Line& line)
      : o_(options),
        line_(line),
        on_(loss, line),
        value0_(line.value),
        slope0_(on_.slope(line.gradient)),
        slope_rtol_(number(options.slope_rtol)) {}

  Zoom start() const;
  Zoom step(const Zoom& s) const;

 private:
  Array number(const Array& option) const { return like(option, value0_); }
  struct Ahead {
    Array length, at_end;
  };
  Ahead ahead(const Zoom& s) const;
  Array within(const Zoom& s) const;
  Array decrease_error(const Array& length, const Point& p) const;
  Array bound(const Zoom& s, Zoom& next) const;
  void end(const Zoom& s, Zoom& next) const;

  const ZoomLineSearch& o_;
  const Line& line_;
  const OnLine on_;
  const Array value0_, slope0_, slope_rtol_;
};

Zoom Zooming::start() const {
  const Dtype dtype = value0_.dtype();
  const Array zero = zeros({}, dtype), never = full({}, infinity, dtype), no = array(false);
  return {.count = array(std::int64_t{0}),
          .length = zero,
          .value = value0_,
          .slope = slope0_,
          .gradient = line_.gradient,
          .decrease_error = never,
          .curvature_error = never,
          .interval_found = no,
          .done = no,
          .failed = no,
          .low = zero,
          .value_low = value0_,
          .slope_low = slope0_,
          .high = zero,
          .value_high = value0_,
          .slope_high = slope0_,
          .cubic = zero,
          .value_cubic = value0_,
          .safe_length = zero,
          .safe_value = value0_,
          .safe_gradient = line_.gradient};
}

/// The length of a step further on, and whether it is the largest allowed.
Zooming::Ahead Zooming::ahead(const Zoom& s) const {
  const Array guess =
      o_.initial_guess == InitialGuess::One ? ones({}, value0_.dtype()) : line_.previous_length;
  const Array length = where(s.count == 0, guess, number(o_.increase_factor) * s.length);
  if (o_.max_learning_rate.is_empty()) return {length, array(false)};
  const Array most = number(o_.max_learning_rate);
  return {minimum(length, most), length >= most};
}

/// The length within the interval: of the cubic's minimum, or the parabola's, or half way, the first that is
/// not too near an end.
Array Zooming::within(const Zoom& s) const {
  const Array width = abs(s.high - s.low), left = minimum(s.high, s.low), right = maximum(s.high, s.low);
  const auto inside = [&](const Array& x, double margin) {
    return x > left + margin * width && x < right - margin * width;
  };
  const Array by_cubic =
      cubic_minimum(s.low, s.value_low, s.slope_low, s.high, s.value_high, s.cubic, s.value_cubic);
  const Array by_quadratic = quadratic_minimum(s.low, s.value_low, s.slope_low, s.high, s.value_high);
  return where(inside(by_cubic, 0.2), by_cubic,
               where(inside(by_quadratic, 0.1), by_quadratic, (s.low + s.high) / 2.));
}

/// By how much a point fails to decrease the value enough.
Array Zooming::decrease_error(const Array& length, const Point& p) const {
  Array error = p.value - value0_ - slope_rtol_ * length * slope0_;
  if (!o_.approx_dec_rtol.is_empty()) {
    const Array rise = p.value - value0_ - number(o_.approx_dec_rtol) * abs(value0_);
    error = minimum(maximum(p.slope - (2 * slope_rtol_ - 1.) * slope0_, rise), error);
  }
  return excess(error);
}

/// Sets the interval after a step to next.length; whether there is one now, found by a step ahead.
Array Zooming::bound(const Zoom& s, Zoom& next) const {
  const Array &zooms = s.interval_found, &decrease = next.decrease_error;
  // After a step ahead: from the step before to this one, or back.
  const Array past = decrease > 0. || (next.value >= s.value && s.count > 0),
              turned = next.slope >= 0. && !past;
  // After a step within: this one takes the place of an end.
  const Array high_here = decrease > 0. || next.value >= s.value_low;
  const Array high_low = next.slope * (s.high - s.low) >= 0. && !high_here;
  const auto bounds = [&](Array Zoom::*low, Array Zoom::*high, Array Zoom::*here) {
    const Array ahead_low = where(turned, next.*here, s.*here),
                ahead_high = where(turned, s.*here, next.*here);
    const Array within_high = where(high_low, s.*low, where(high_here, next.*here, s.*high));
    const Array within_low = where(high_here, s.*low, next.*here);
    next.*low = where(zooms, within_low, ahead_low);
    next.*high = where(zooms, within_high, ahead_high);
  };
  bounds(&Zoom::low, &Zoom::high, &Zoom::length);
  bounds(&Zoom::value_low, &Zoom::value_high, &Zoom::value);
  bounds(&Zoom::slope_low, &Zoom::slope_high, &Zoom::slope);
  const Array drops_high = high_here || high_low;
  next.cubic = where(zooms, where(drops_high, s.high, s.low), next.low);
  next.value_cubic = where(zooms, where(drops_high, s.value_high, s.value_low), next.value_low);
  return past || turned;
}

/// A search that fails takes the best step that meets the first condition; none outside of the domain.
void Zooming::end(const Zoom& s, Zoom& next) const {
  const Array width = abs(s.high - s.low);
  const Array too_narrow =
      s.interval_found && width <= number(o_.stepsize_precision) && next.safe_length > 0.;
  next.failed = (next.count >= o_.max_linesearch_steps || too_narrow) && !next.done;
  const Array retreats = next.failed && (next.safe_length > 0. || isinf(next.decrease_error));
  next.length = where(retreats, next.safe_length, next.length);
  next.value = where(retreats, next.safe_value, next.value);
  next.gradient = either(retreats, next.safe_gradient, next.gradient);
}

Zoom Zooming::step(const Zoom& s) const {
  const Array &zooms = s.interval_found, tol = number(o_.tol);
  const Ahead further = ahead(s);
  const Array length = where(zooms, within(s), further.length);
  const Point p = on_.point(length);

  Zoom next = s;
  next.count = s.count + 1;
  next.length = length;
  next.value = p.value;
  next.slope = p.slope;
  next.gradient = p.gradient;
  next.decrease_error = decrease_error(length, p);
  next.curvature_error = excess(abs(p.slope) - number(o_.curv_rtol) * abs(slope0_));
  const Array safe = next.decrease_error <= tol && (!zooms || p.value < s.safe_value);
  next.safe_length = where(safe, length, s.safe_length);
  next.safe_value = where(safe, p.value, s.safe_value);
  next.safe_gradient = either(safe, p.gradient, s.safe_gradient);

  const Array good = maximum(next.decrease_error, next.curvature_error) <= tol,
              found = bound(s, next) || good;
  next.interval_found = zooms || found;
  next.done = good || (!zooms && further.at_end && !found);
  end(s, next);
  return next;
}

}  // namespace

Found search(const ZoomLineSearch& o, const apsis::detail::Callee& loss, const Line& line) {
  const Zooming zooming(o, loss, line);
  const Zoom end = while_loop([](const Zoom& s) { return !(s.done || s.failed); },
                              [&](const Zoom& s) { return zooming.step(s); }, zooming.start(), {}, line.loc);
  return {end.length, end.value, end.gradient, end.count, end.decrease_error, end.curvature_error};
}

}  // namespace apsis::optim::detail
