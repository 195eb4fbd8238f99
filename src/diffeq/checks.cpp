#include "diffeq/checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/control/error_if.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "diffeq/messages.hpp"

namespace apsis::detail {

Text::Text(const Message& row, std::initializer_list<std::string> parts)
    : id(row.id), text(filled_text(row, parts)) {}

void raise(const Array& code, const std::vector<Text>& texts, std::span<const Array> values, Loc loc) {
  std::vector<Message> rows;
  for (const Text& t : texts) rows.push_back({t.id, t.text.c_str()});
  error_if_code(code, rows, values, loc);
}

bool InputChecks::make_known(std::vector<Array>& values) {
  std::vector<Array> known;
  for (const Array& v : values) known.push_back(concrete_value(v));
  for (const Array& k : known) {
    if (!k.is_empty()) continue;
    for (Array& v : values) v = stop_gradient(v);
    return false;
  }
  values = std::move(known);
  return true;
}

void InputChecks::found(const std::vector<Text>& texts, const Finding& finding) {
  if (throws_) return raise(finding.code, texts, finding.values, loc_);
  Array bad = finding.code != 0;
  if (is_concrete(bad) && !bad.item<bool>()) return;
  refused_ = refused_.is_empty() ? bad : refused_ || bad;
}

int known_direction(const GivenTimes& given) {
  const Array dt0 = given.dt0.is_empty() ? Array() : concrete_value(given.dt0);
  if (dt0.is_empty()) return 0;
  const double step = dt0.item<double>();
  return std::isfinite(step) ? (step > 0) - (step < 0) : 0;
}

Array time_rounding(const Array& t0, const Array& t1) {
  const Array start = concrete_value(t0);
  const double most = 100 * finfo(is_floating(t1.dtype()) ? t1.dtype() : f64).eps;
  if (!start.is_empty() && start.item<double>() == 0) return most * abs(t1);
  Array rounding = most * maximum(abs(t0), abs(t1)), length = abs(t1 - t0);
  return where(length == 0, rounding, minimum(rounding, 0.01 * length));
}

bool broadcasts(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (std::size_t k = 0; k < from.size(); ++k) {
    const std::int64_t length = from[from.size() - 1 - k];
    if (length != 1 && length != to[to.size() - 1 - k]) return false;
  }
  return true;
}

namespace {

void check_time(const Array& t, const char* name, Loc loc) {
  if (t.is_empty()) fail(messages::time_not_scalar, {name, "an empty array"}, loc);
  if (t.ndim() != 0) fail(messages::time_not_scalar, {name, to_string(t.aval())}, loc);
  if (is_complex(t.dtype())) fail(messages::time_not_real, {name, to_string(t.aval())}, loc);
}

/// Numbers among the options that are no values of the program, each with its range.
void check_numbers(const SolveOptions& o, Loc loc) {
  const struct {
    const char* name;
    std::int64_t value;
    bool fits;
    const char* range;
  } table[] = {
      {"max_steps", o.max_steps, o.max_steps >= -1,
       "give a number of attempts, or -1 for a solve without a bound of yours"},
      {"checkpoints", o.checkpoints, o.checkpoints == 0 || o.checkpoints >= 2,
       "give the number of states that reverse mode keeps, 2 or more, or 0 for a tape of all steps"},
      {"checkpoint_bytes", o.checkpoint_bytes, o.checkpoint_bytes >= 0,
       "give the number of bytes for the states that reverse mode keeps, or 0 for a tape of all steps"},
  };
  for (const auto& row : table)
    if (!row.fits)
      fail(messages::option_range, {"diffeqsolve", row.name, std::to_string(row.value), row.range}, loc);
}

/// The steps that saveat.dense has room for.
void check_dense_room(std::span<const Array> y0, const SolveOptions& o, Loc loc) {
  if (!o.saveat.dense) return;
  if (o.max_steps < 0) fail(messages::dense_without_bound, {}, loc);
  double bytes = 0;
  for (const Array& y : y0)
    bytes += 2 * static_cast<double>(o.max_steps) * static_cast<double>(y.aval().bytes());
  if (bytes > 0x1p40) fail(messages::dense_too_many, {std::to_string(o.max_steps)}, loc);
}
/// The rows that a request for steps has room for; more bytes than any machine has are a mistake.
void check_room(std::span<const Array> y0, const SolveOptions& o, const FlatSave& save, Loc loc) {
  const std::int64_t steps = save.at.steps;
  if (steps < 0)
    fail(messages::option_range,
         {"diffeqsolve", save.name + ".steps", std::to_string(steps),
          "give n to save every n-th accepted step, or 0 for none"},
         loc);
  if (steps == 0) return;
  if (o.max_steps < 0) fail(messages::steps_without_bound, {save.name}, loc);
  const std::int64_t rows = o.max_steps / steps;
  double bytes = 0;
  for (const Array& y : y0) bytes += static_cast<double>(rows) * static_cast<double>(y.aval().bytes());
  if (bytes > 0x1p40)
    fail(messages::steps_too_many, {save.name, std::to_string(rows), std::to_string(o.max_steps)}, loc);
}

/// The numbers from `low` to `high`, each included or not.
struct Interval {
  double low, high;
  bool with_low, with_high;
  bool holds(double x) const { return (with_low ? x >= low : x > low) && (with_high ? x <= high : x < high); }
  Array holds(const Array& x) const {
    return (with_low ? x >= low : x > low) && (with_high ? x <= high : x < high);
  }
};
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What an option must be, and how a text says it.
struct Range {
  std::string name;
  const Array& value;
  Interval interval;
  const char* text;
};

bool is_known_to_fit(const Range& range) {
  const Array known = concrete_value(range.value);
  if (known.is_empty()) return false;
  for (double x : known.to_vector<double>())
    if (!range.interval.holds(x)) return false;
  return true;
}

std::vector<Array> as_times(std::span<const Array> values, Dtype dtype) {
  std::vector<Array> times;
  for (const Array& v : values) times.push_back(astype(v, dtype));
  return times;
}

/// Which text of `check_times` is about dt0. Of few ops where dt0 and t0 are known, as in most programs.
Array first_step_code(const GivenTimes& given, const Array& dt0, const Array& t0, const Array& t1) {
  const int known = known_direction(given);
  const Array lost = value_or_later({given.dt0, given.t0}, [&](std::span<const Array> v) {
    const std::vector<Array> times = as_times(v, given.dtype);
    return times[1] + times[0] == times[1];
  });
  Array some = t0 != t1;
  Array back = known == 0 ? some && (dt0 < 0) != (t1 < t0) : known < 0 ? t0 < t1 : t1 < t0;
  Array code = where(back, 4, 0);
  if (!is_concrete(lost) || lost.item<bool>()) code = where(back, 4, where(some && lost, 5, 0));
  return known != 0 ? code : where(!isfinite(dt0) || (some && dt0 == 0), 3, code);
}

void check_step_to(InputChecks& checks, const StepTo& c, const GivenTimes& times) {
  if (!times.dt0.is_empty()) fail(messages::first_step_given, {}, checks.loc());
  if (c.ts.is_empty() || c.ts.ndim() != 1 || c.ts.size() < 2)
    fail(messages::step_to_times, {c.ts.is_empty() ? "nothing" : to_string(c.ts.aval())}, checks.loc());
  if (is_complex(c.ts.dtype()))
    fail(messages::time_not_real, {"StepTo::ts", to_string(c.ts.aval())}, checks.loc());
  const auto look = [&](std::span<const Array> given) {
    const std::vector<Array> v = as_times(given, times.dtype);
    const Array &ts = v[0], &t0 = v[1], &t1 = v[2], slack = time_rounding(t0, t1);
    Array before = ts[range({}, -1)], after = ts[range(1, {})];
    Array wrong = !where(t1 < t0, after < before, before < after), at = argmax(wrong);
    Array ends = abs(ts[0] - t0) <= slack && abs(ts[-1] - t1) <= slack;
    Array code = where(!ends, 1, where(t0 != t1 && any(wrong), 2, 0));
    return Finding{code, {ts[0], ts[-1], t0, t1, at + 1, after[at], before[at]}};
  };
  checks.refuse({c.ts, times.t0, times.t1}, look, [] {
    return std::vector{Text(messages::step_to_ends, {"{0}", "{1}", "{2}", "{3}"}),
                       Text(messages::step_to_order, {"{4}", "{5}", "{6}"})};
  });
}

void check_range(InputChecks& checks, const Range& range) {
  if (is_known_to_fit(range)) return;
  const auto look = [&](std::span<const Array> v) {
    return Finding{where(all(range.interval.holds(v[0])), 0, 1), {v[0]}};
  };
  checks.refuse({range.value}, look, [&] {
    return std::vector{Text(messages::option_range, {"PIDController", range.name, "{0}", range.text})};
  });
}

/// A bound of errors: its shapes, and its range.
void check_bound(InputChecks& checks, const Tolerance& bound, const char* name, const Interval& interval,
                 const char* text, std::span<const Array> y0, const LeafNames& names) {
  for (const Array& a : bound.bounds())
    if (a.is_empty()) fail(messages::missing_tolerance, {}, checks.loc());
  check_tolerance_shape(bound, "PIDController", name, y0, names, checks.loc());
  for (std::size_t i = 0; i < bound.bounds().size(); ++i)
    check_range(checks, {bound.of_leaves() ? std::string(name) + " of " + names(i) : name, bound.bounds()[i],
                         interval, text});
}

void check_pid(InputChecks& checks, const PIDController& c, std::span<const Array> y0,
               const LeafNames& names) {
  if (c.rtol.is_empty() || c.atol.is_empty()) fail(messages::missing_tolerance, {}, checks.loc());
  check_bound(checks, c.rtol, "rtol", {0, infinity, true, false},
              "give the relative error that a step may make, 0 or more, such as 1e-6", y0, names);
  check_bound(checks, c.atol, "atol", {0, infinity, true, true},
              "give the absolute error that a step may make, 0 or more, such as 1e-9, or inf where errors do "
              "not count",
              y0, names);
  const Range table[] = {
      {"pcoeff", c.pcoeff, {-infinity, infinity, false, false}, "give a finite number, such as 0 or 0.4"},
      {"icoeff", c.icoeff, {-infinity, infinity, false, false}, "give a finite number, such as 1 or 0.3"},
      {"dcoeff", c.dcoeff, {-infinity, infinity, false, false}, "give a finite number, such as 0"},
      {"dtmin",
       c.dtmin,
       {0, infinity, false, false},
       "give the length of the shortest step, above 0 in solves of either direction, or {} for none"},
      {"dtmax",
       c.dtmax,
       {0, infinity, false, true},
       "give the length of the longest step, above 0 in solves of either direction, or {} for none"},
      {"factormin",
       c.factormin,
       {0, 1, false, true},
       "give the least factor from one step to the next, above 0 and at most 1, such as 0.2"},
      {"factormax",
       c.factormax,
       {1, infinity, true, true},
       "give the greatest factor from one step to the next, 1 or more, such as 10"},
      {"safety",
       c.safety,
       {0, 1, false, false},
       "give a factor between 0 and 1, such as 0.9: from 1 on, a rejected step would be tried again as it "
       "is"},
  };
  for (const Range& range : table) {
    if (range.value.is_empty()) {
      const bool may_be = &range.value == &c.dtmin || &range.value == &c.dtmax;
      if (may_be) continue;
      fail(messages::option_range, {"PIDController", range.name, "empty", range.text}, checks.loc());
    }
    if (range.value.ndim() > 0)
      fail(messages::option_shape, {range.name, to_string(range.value.aval())}, checks.loc());
    check_range(checks, range);
  }
  for (std::size_t i = 0; i < std::max(c.rtol.bounds().size(), c.atol.bounds().size()); ++i)
    checks.refuse(
        {c.rtol.of(i), c.atol.of(i)},
        [](std::span<const Array> v) {
          return Finding{where(any(v[0] + v[1] == 0), 1, 0), {}};
        },
        [] { return std::vector{Text(messages::no_tolerance, {})}; });
  const auto left_out = [](std::span<const Array> v) {
    Array some = false;
    for (const Array& bound : v) some = some || any(isfinite(bound));
    return Finding{where(some, 0, 1), {}};
  };
  if (!c.norm.is_set())
    checks.refuse(c.atol.bounds(), left_out, [] { return std::vector{Text(messages::all_left_out, {})}; });
  const auto total = [](std::span<const Array> v) {
    Array sum = v[0] + v[1] + v[2];
    return Finding{where(sum > 0, 0, 1), {sum}};
  };
  checks.refuse({c.pcoeff, c.icoeff, c.dcoeff}, total,
                [] { return std::vector{Text(messages::coefficients, {"{0}"})}; });
  if (c.dtmin.is_empty() || c.dtmax.is_empty()) return;
  checks.refuse(
      {c.dtmin, c.dtmax},
      [](std::span<const Array> v) {
        return Finding{where(v[0] > v[1], 1, 0), {v[0], v[1]}};
      },
      [] {
        return std::vector{Text(messages::step_limits, {"{0}", "{1}"})};
      });
}

}  // namespace

void check_state(const Array& t0, std::span<const Array> y0, const LeafNames& names, Loc loc) {
  check_time(t0, "t0", loc);
  if (y0.empty()) fail(messages::empty_state, {}, loc);
  for (std::size_t i = 0; i < y0.size(); ++i) {
    if (is_complex(y0[i].dtype())) fail(messages::state_complex, {names(i), to_string(y0[i].aval())}, loc);
    if (!is_floating(y0[i].dtype()))
      fail(messages::state_not_floating, {names(i), to_string(y0[i].aval())}, loc);
  }
}

void check_structure(std::span<const Array> y0, const LeafNames& names, const GivenTimes& times,
                     const SolveOptions& options, std::span<const FlatSave> saves, Loc loc) {
  check_time(times.t1, "t1", loc);
  if (!times.dt0.is_empty()) check_time(times.dt0, "dt0", loc);
  check_state(times.t0, y0, names, loc);
  check_numbers(options, loc);
  const bool steady = options.adjoint == Adjoint::SteadyState;
  if (steady && (options.saveat.events != 0 || options.saveat.dense)) fail(messages::steady_saveat, {}, loc);
  for (const FlatSave& save : saves) {
    const Array& ts = save.at.ts;
    if (!ts.is_empty() && ts.ndim() != 1) fail(messages::save_times, {save.name, to_string(ts.aval())}, loc);
    if (!ts.is_empty() && is_complex(ts.dtype()))
      fail(messages::time_not_real, {save.name + ".ts", to_string(ts.aval())}, loc);
    check_room(y0, options, save, loc);
    if (steady && (save.at.t0 || !ts.is_empty() || save.at.steps != 0))
      fail(messages::steady_saveat, {}, loc);
  }
  check_dense_room(y0, options, loc);
}

std::vector<FlatSave> save_requests(const SaveAt& save, std::vector<FlatSave> beside, Loc loc) {
  const char* twice = save.t0               ? "t0"
                      : save.t1             ? "t1"
                      : !save.ts.is_empty() ? "ts"
                      : save.steps != 0     ? "steps"
                                            : nullptr;
  if (beside.empty()) return {{"saveat", {save.t0, save.ts, save.steps, save.t1}, {}}};
  if (twice) fail(messages::saveat_twice, {twice}, loc);
  return beside;
}

void check_times(InputChecks& checks, const GivenTimes& times, std::span<const FlatSave> saves) {
  std::vector<Array> values{times.t0, times.t1};
  if (!times.dt0.is_empty()) values.push_back(times.dt0);
  const auto look = [&](std::span<const Array> given) {
    const std::vector<Array> v = as_times(given, times.dtype);
    Array step = v.size() == 3 ? first_step_code(times, v[2], v[0], v[1]) : Array(0);
    return Finding{where(!isfinite(v[0]), 1, where(!isfinite(v[1]), 2, step)), v};
  };
  checks.refuse(values, look, [&] {
    std::vector texts{Text(messages::time_not_finite, {"t0", "{0}"}),
                      Text(messages::time_not_finite, {"t1", "{1}"})};
    if (times.dt0.is_empty()) return texts;
    texts.push_back(Text(messages::first_step_value, {"{2}"}));
    texts.push_back(Text(messages::first_step_direction, {"{2}", "{0}", "{1}"}));
    texts.push_back(Text(messages::first_step_rounds, {"{2}", "{0}"}));
    return texts;
  });
  const auto saved = [&](std::span<const Array> given) {
    const std::vector<Array> v = as_times(given, times.dtype);
    const Array &ts = v[0], &t0 = v[1], &t1 = v[2], slack = time_rounding(t0, t1);
    Array low = minimum(t0, t1) - slack, high = maximum(t0, t1) + slack;
    Array outside = !(low <= ts && ts <= high), first = argmax(outside);
    Array before = ts[range({}, -1)], after = ts[range(1, {})];
    Array code = where(any(outside), 1, 0);
    std::vector<Array> shown{first, ts[first], t0, t1};
    if (ts.size() > 1) {
      Array unsorted = where(t1 < t0, before < after, after < before), at = argmax(unsorted);
      code = where(code == 0 && any(unsorted), 2, code);
      shown.insert(shown.end(), {at + 1, after[at], before[at]});
    }
    return Finding{code, shown};
  };
  for (const FlatSave& save : saves)
    if (!save.at.ts.is_empty() && save.at.ts.size() > 0)
      checks.refuse({save.at.ts, times.t0, times.t1}, saved, [&] {
        return std::vector{Text(messages::save_time_outside, {save.name, "{0}", "{1}", "{2}", "{3}"}),
                           Text(messages::save_times_unsorted, {save.name, "{4}", "{5}", "{6}"})};
      });
}

namespace {

/// Times that steps of a ClipStepSizeController must meet.
void check_clip(InputChecks& checks, const ClipStepSizeController& c) {
  if (c.controller.innermost().as<StepTo>()) fail(messages::clip_step_to, {}, checks.loc());
  if (c.store_rejected_steps < 0)
    fail(messages::option_range,
         {"ClipStepSizeController", "store_rejected_steps", std::to_string(c.store_rejected_steps),
          "give the number of rejected steps to remember, such as 100, or 0 for none"},
         checks.loc());
  const auto check = [&](const Times& ts, const char* name) {
    if (ts.is_empty()) return;
    if (ts.ndim() != 1 || is_complex(ts.dtype()))
      fail(messages::clip_times, {name, to_string(ts.aval())}, checks.loc());
    if (ts.size() == 0) return;
    const auto look = [](std::span<const Array> v) {
      const Array nan = isnan(v[0]);
      return Finding{where(any(nan), 1, 0), {argmax(nan)}};
    };
    checks.refuse({ts}, look, [&] { return std::vector{Text(messages::clip_nan, {name, "{0}"})}; });
  };
  check(c.step_ts, "step_ts");
  check(c.jump_ts, "jump_ts");
}

}  // namespace

void check_controller(InputChecks& checks, const Controller& controller, const GivenTimes& times,
                      std::span<const Array> y0, const LeafNames& names) {
  if (const auto* c = controller.as<ClipStepSizeController>()) {
    check_clip(checks, *c);
    return check_controller(checks, c->controller, times, y0, names);
  }
  if (const auto* c = controller.as<StepTo>()) check_step_to(checks, *c, times);
  if (const auto* c = controller.as<PIDController>()) check_pid(checks, *c, y0, names);
  if (controller.as<ConstantStepSize>() && times.dt0.is_empty() && !times.goes_on)
    fail(messages::no_first_step, {}, checks.loc());
}

}  // namespace apsis::detail
