// Events of a solve: looks for them in each accepted step, and has the solve end there or go on with another
// state.

#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/control/cond.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/crossing.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/norm.hpp"

namespace apsis::detail {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::int64_t number(std::size_t i) { return static_cast<std::int64_t>(i); }
std::string name_of(std::size_t i) { return "events[" + std::to_string(i) + "]"; }

/// At which occurrence an event ends the solve; 0: never.
std::int64_t last_of(const Event& e) { return e.stop_after >= 0 ? e.stop_after : e.change.is_set() ? 0 : 1; }

/// How far through a step the search for events is.
struct Inside {
  Array goes_on, from, event, stops, interrupted;  // event: the last one found
  EventState own;
};

/// Whether an event with a change is the one.
Array changes_state(const Problem& p, const Array& event) {
  Array changes = false;
  for (std::size_t i = 0; i < p.options.events.size(); ++i)
    if (p.options.events[i].change.is_set()) changes = changes || event == number(i);
  return changes;
}

/// Writes the next row, which counts only if something occurred.
void record(const Problem& p, const Array& occurred, const Array& event, const Array& t,
            std::span<const Array> y, EventState& own) {
  if (own.saved.empty()) return;
  const Array row = own.saved[0];
  own.ts[0] = own.ts[0].at(row).set(where(occurred, t, infinity * p.slopes.direction()));
  own.which[0] = own.which[0].at(row).set(where(occurred, event, -1));
  for (std::size_t i = 0; i < y.size(); ++i)
    own.ys[i] = own.ys[i].at(row).set(where(occurred, y[i], full_like(y[i], infinity)));
  own.saved[0] = row + where(occurred, 1, 0);
}

/// The next crossing of the step, if there is one.
Inside next_crossing(const Problem& p, const AlongStep& along, const LoopState& s, const Inside& v) {
  const Found found = first_crossing(along, v.from, v.own.sign, v.own.at_zero);
  const auto locate = [&] {
    const Array theta = differentiable_theta(along, found);
    return std::pair(theta, v.own.saved.empty() ? std::vector<Array>() : along.state(theta));
  };
  const auto nowhere = [&] {
    return std::pair(ones_like(v.from), v.own.saved.empty() ? std::vector<Array>() : s.y);
  };
  const auto [theta, y] = cond(found.found, locate, nowhere);
  Inside n = v;
  n.from = theta;
  n.event = where(found.found, found.event, v.event);
  n.stops = Array(false);
  for (std::size_t e : along.events()) {
    const Array occurred = found.event == number(e);
    n.own.sign[e] = found.sign[e];
    n.own.at_zero[e] = along.is_boolean(e) ? Array(false) : occurred;
    n.own.counts[e] = v.own.counts[e] + where(occurred, 1, 0);
    if (const std::int64_t last = last_of(along.event(e)); last > 0)
      n.stops = n.stops || (occurred && n.own.counts[e] >= last);
  }
  record(p, found.found, found.event, along.time(theta), y, n.own);
  n.interrupted = n.stops || (found.found && changes_state(p, found.event));
  n.goes_on = found.found && !n.interrupted && theta < 1;
  return n;
}

/// Whether a slope is small, as tolerances say: one for all, or as errors are measured.
Array is_at_rest(const Problem& p, const SteadyState& steady, std::span<const Array> y,
                 std::span<const Array> slope) {
  const Tolerance rtol = steady.rtol.is_empty() ? p.tolerances.rtol : Tolerance(steady.rtol);
  const Tolerance atol = steady.atol.is_empty() ? p.tolerances.atol : Tolerance(steady.atol);
  const auto is_one = [](const Tolerance& t) { return !t.of_leaves() && t.of(0).ndim() == 0; };
  if (is_one(rtol) && is_one(atol))
    return rms_norm(slope) < stop_gradient(atol.of(0)) + stop_gradient(rtol.of(0)) * rms_norm(y);
  std::vector<Array> relative;
  for (std::size_t k = 0; k < y.size(); ++k)
    relative.push_back(slope[k] / (stop_gradient(atol.of(k)) + stop_gradient(rtol.of(k)) * abs(y[k])));
  return error_square({rtol, atol}, relative) < 1;
}

/// SteadyState, at the end of a step that nothing else interrupts.
void look_at_rest(const Problem& p, const LoopState& s, const SolverAttempt& step, const Array& accept,
                  Inside& v) {
  for (std::size_t i = 0; i < p.options.events.size(); ++i) {
    const SteadyState* steady = p.options.events[i].condition.steady();
    if (steady == nullptr) continue;
    std::vector<Array> slope;
    if (p.solver.traits.keeps_slope)
      slope.assign(step.state.begin(), step.state.begin() + static_cast<std::ptrdiff_t>(step.y1.size()));
    else
      slope = p.slopes(s.end, step.y1);
    std::vector<Array> y = step.y1;
    for (std::size_t k = 0; k < y.size(); ++k) {
      y[k] = stop_gradient(y[k]);
      slope[k] = stop_gradient(slope[k]);
    }
    const Array rests = accept && !v.interrupted && is_at_rest(p, *steady, y, slope);
    // It occurs where it begins to hold.
    const Array occurred = rests && v.own.sign[i] < 0;
    const Array looked = accept && !v.interrupted;
    v.own.sign[i] = where(looked, where(rests, 1., -1.), v.own.sign[i]);
    v.own.counts[i] = v.own.counts[i] + where(occurred, 1, 0);
    v.event = where(occurred, number(i), v.event);
    v.from = where(occurred, 1., v.from);
    record(p, occurred, v.event, s.end, step.y1, v.own);
    const std::int64_t last = last_of(p.options.events[i]);
    const Array stops = last > 0 ? occurred && v.own.counts[i] >= last : Array(false);
    v.stops = v.stops || stops;
    v.interrupted = v.interrupted || stops || (occurred && changes_state(p, v.event));
  }
}

/// The state after the change of the event, if it has one.
std::vector<Array> changed(const Problem& p, const Inside& v, const Array& t, std::vector<Array> y) {
  for (std::size_t i = 0; i < p.options.events.size(); ++i) {
    const EventChange& change = p.options.events[i].change;
    if (!change.is_set()) continue;
    y = cond(
        v.event == number(i) && !v.stops,
        [&](const std::vector<Array>& now) {
          std::vector<Array> after = change.function()(p.like.tree, t * p.slopes.direction(), now);
          for (std::size_t k = 0; k < now.size(); ++k) after[k] = astype(after[k], now[k].dtype());
          return after;
        },
        [](const std::vector<Array>& now) { return now; }, y);
  }
  return y;
}

/// Signs behind a change. It is no crossing: a condition that it alters has the sign that it then has. One
/// that it leaves where it is keeps the sign from before; the one that occurred has then no sign yet, its
/// slope will tell.
void follow_signs(const Problem& p, const AlongStep& along, const Inside& v, const Array& t,
                  std::span<const Array> after, EventState& own) {
  const Array at = stop_gradient(v.from);
  for (std::size_t e : along.events()) {
    const Array before = along.value(e, at), now = condition_value(p, e, t, after);
    const Array here = v.event == number(e), sign = apsis::sign(now);
    if (along.is_boolean(e)) {
      own.sign[e] = where(here || now != before, sign, v.own.sign[e]);
      continue;
    }
    const Array near = abs(along.value(e, at - along.resolution(e)) - before) * 8 + 2 * abs(before);
    const Array stays = abs(now - before) <= near;
    own.sign[e] = where(here && stays, 0., where(stays, v.own.sign[e], sign));
    own.at_zero[e] = where(stays, here, now == 0);
    for (Array* a : {&own.sign[e], &own.at_zero[e]}) *a = stop_gradient(*a);
  }
}

/// What an interruption changes of the loop's state.
struct Restart {
  Array t, end, code;
  std::vector<Array> y_before, y, solver, controller;
  EventState own;
};

/// The next attempt after a change. Steps that a controller chose freely are as long as they would have been;
/// others end where they would have ended, so that times which steps must meet are met.
void next_attempt(const Problem& p, const LoopState& s, const NextStep& decision, Restart& r) {
  const Controller& c = p.options.controller;
  const Array whole = r.t + (decision.end - decision.start);
  r.end = whole;
  if (c.as<PIDController>() == nullptr && c.as<ConstantStepSize>() == nullptr) {
    const Array rest = s.end - r.t > 8 * finfo(r.t.dtype()).eps * maximum(abs(s.start), abs(s.end));
    r.end = where(rest, s.end, decision.end);
    for (std::size_t i = 0; i < r.controller.size(); ++i)
      r.controller[i] = where(rest, s.controller[i], decision.state[i]);
  }
  r.end = where(r.end > p.clip_from, p.t1, r.end);
}

/// What a change leaves to the algebraic equations; where they have no solution the solve ends.
std::vector<Array> consistent_after(const Problem& p, const Inside& v, Restart& r) {
  const auto [y, found] = consistent_state(*p.mass, p.slopes, p.tolerances, r.t, r.y);
  if (found.is_empty()) return r.y;
  r.code = where(found || v.stops, r.code, static_cast<std::int64_t>(SolveResult::NonlinearDivergence));
  std::vector<Array> out;
  for (std::size_t i = 0; i < y.size(); ++i) out.push_back(where(v.stops, r.y[i], y[i]));
  return out;
}

Restart restart(const Problem& p, const AlongStep& along, const LoopState& s, const NextStep& decision,
                const Inside& v, Restart r) {
  r.t = along.time(v.from);
  r.y_before = along.state(v.from);
  r.y = changed(p, v, r.t, r.y_before);
  if (p.mass) r.y = consistent_after(p, v, r);
  r.own = v.own;
  r.own.ended_by = where(v.stops, v.event, -1);
  r.code = where(v.stops, static_cast<std::int64_t>(SolveResult::EventOccurred), r.code);
  const bool ends = r.own.last_change.empty();
  if (!ends || p.options.saveat.solver_state)
    r.solver = checked_init(p.solver, {p.slopes, r.t, r.y, p.slopes.rate(r.t, r.y)});
  if (ends) return r;
  follow_signs(p, along, v, r.t, r.y, r.own);
  next_attempt(p, s, decision, r);
  // As many as there are events may follow at once upon each other; more do so for ever.
  const double ulp = finfo(r.t.dtype()).eps;
  const Array rounding = 8 * ulp * maximum(abs(s.start), abs(s.end));
  const Array at_once = r.t <= v.own.last_change[0] + rounding;
  r.own.at_once[0] = where(at_once, v.own.at_once[0] + 1, 0);
  const Array stuck = !v.stops && r.own.at_once[0] >= number(p.options.events.size());
  r.code = where(stuck, static_cast<std::int64_t>(SolveResult::DtMinReached), r.code);
  r.own.last_change[0] = stop_gradient(r.t);
  return r;
}

void check_condition(const Problem& p, std::size_t i, Loc loc) {
  const Event& e = p.options.events[i];
  const auto out_of_range = [&](const char* option, const std::string& value, const char* range) {
    fail(messages::option_range, {name_of(i), option, value, range}, loc);
  };
  if (!e.condition.is_set()) fail(messages::event_empty, {name_of(i)}, loc);
  for (const StateFunction* f : {&e.condition.function(), &e.change.function()})
    if (f->is_set() && f->state() != p.like.type)
      fail(messages::event_state,
           {f == &e.change.function() ? "change" : "condition", name_of(i), std::string(f->state()->name()),
            std::string(p.like.type->name())},
           loc);
  if (e.stop_after < -1)
    out_of_range("stop_after", std::to_string(e.stop_after),
                 "give the number of the occurrence that ends the solve, 0 for none, or -1");
  if (!(e.tolerance >= 0 && e.tolerance < infinity))
    out_of_range("tolerance", std::to_string(e.tolerance),
                 "give a length of time, 0 or more; 0 stands for rounding");
  if (const SteadyState* steady = e.condition.steady())
    if ((steady->rtol.is_empty() && p.tolerances.rtol.is_empty()) ||
        (steady->atol.is_empty() && p.tolerances.atol.is_empty()))
      fail(messages::event_tolerance, {name_of(i)}, loc);
}

void check_change(const Problem& p, std::size_t i, Loc loc) {
  const EventChange& change = p.options.events[i].change;
  if (!change.is_set()) return;
  const std::vector<Array> after = change.function()(p.like.tree, p.t0 * p.slopes.direction(), p.y0);
  if (after.size() != p.y0.size())
    fail(messages::event_change,
         {name_of(i), "the state", std::to_string(p.y0.size()) + " arrays", std::to_string(after.size())},
         loc);
  for (std::size_t k = 0; k < after.size(); ++k)
    if (after[k].shape() != p.y0[k].shape() || (after[k].dtype() != p.y0[k].dtype() && !after[k].weak()))
      fail(messages::event_change,
           {name_of(i), p.slopes.name(k), to_string(p.y0[k].aval()), to_string(after[k].aval())}, loc);
}

}  // namespace

void start_events(Problem& p, LoopState& s, Loc loc) {
  const std::vector<Event>& events = p.options.events;
  const std::int64_t rows = p.options.saveat.events;
  if (rows < 0)
    fail(messages::option_range,
         {"diffeqsolve", "saveat.events", std::to_string(rows),
          "give the number of occurrences to keep room for, 0 or more"},
         loc);
  if (events.empty()) {
    if (rows > 0) fail(messages::no_events, {std::to_string(rows)}, loc);
    return;
  }
  EventState own;
  bool change = false;
  for (std::size_t i = 0; i < events.size(); ++i) {
    check_condition(p, i, loc);
    check_change(p, i, loc);
    change = change || events[i].change.is_set();
    own.counts.push_back(array(std::int64_t{0}));
    own.at_zero.push_back(Array(false));
    p.boolean.push_back(events[i].condition.steady() != nullptr);
    Array sign = astype(array(-1.), p.t0.dtype());
    if (events[i].condition.steady() == nullptr) {
      const Array value = events[i].condition.function()(p.like.tree, p.t0 * p.slopes.direction(), p.y0)[0];
      const bool boolean = value.dtype() == Dtype::Bool;
      if (value.ndim() != 0 || (!boolean && !is_floating(value.dtype())))
        fail(messages::event_condition, {name_of(i), to_string(value.aval())}, loc);
      if (boolean && events[i].direction != Crossing::Either)
        fail(messages::event_direction, {name_of(i)}, loc);
      p.boolean[i] = boolean;
      if (!boolean) {
        sign = stop_gradient(apsis::sign(astype(value, p.t0.dtype())));
        own.at_zero[i] = sign == 0;
      }
    }
    own.sign.push_back(sign);
  }
  own.ended_by = array(std::int64_t{-1});
  if (change) {
    own.last_change.push_back(astype(array(-infinity), p.t0.dtype()));
    own.at_once.push_back(array(std::int64_t{0}));
  }
  if (rows > 0) {
    own.saved.push_back(array(std::int64_t{0}));
    own.ts.push_back(full({rows}, infinity, p.t0.dtype()) * p.slopes.direction());
    own.which.push_back(full({rows}, std::int64_t{-1}));
    for (const Array& y : p.y0) {
      Shape shape = y.shape();
      shape.insert(0, rows);
      own.ys.push_back(full(shape, infinity, y.dtype()));
    }
  }
  s.events = own;
}

Reached pass_events(const Problem& p, const LoopState& s, const SolverAttempt& step, const NextStep& decision,
                    LoopState& next) {
  if (!s.events) return {s.end, next.y};
  const AlongStep along(p, s, step);
  Inside v{decision.accept, zeros_like(p.t0), array(std::int64_t{-1}), Array(false), Array(false), *s.events};
  if (!along.events().empty())
    v = while_loop([](const Inside& i) { return i.goes_on; },
                   [&](const Inside& i) { return next_crossing(p, along, s, i); }, v);
  look_at_rest(p, s, step, decision.accept, v);
  const Restart through{s.end, next.end, next.code, next.y, next.y, next.solver, next.controller, v.own};
  const Restart r = cond(
      v.interrupted,
      [&](const Inside& i, const Restart& now) { return restart(p, along, s, decision, i, now); },
      [](const Inside&, const Restart& now) { return now; }, v, through);
  next.start = where(v.interrupted, r.t, next.start);
  for (Array& end : next.proposed) end = where(v.interrupted, r.t + (decision.end - decision.start), end);
  next.end = r.end;
  next.code = r.code;
  next.y = r.y;
  next.solver = r.solver;
  next.controller = r.controller;
  next.events = r.own;
  return {r.t, r.y_before};
}

void collect_events(const Problem& p, const LoopState& end, const Array& code, FlatSolution& s) {
  if (!end.events) return;
  const EventState& own = *end.events;
  const Array ended = code == static_cast<std::int64_t>(SolveResult::EventOccurred);
  s.mask = ended && arange(number(own.counts.size())) == own.ended_by;
  s.counts = stack(own.counts);
  if (own.saved.empty()) return;
  s.event_ts = own.ts[0] * p.slopes.direction();
  s.which = own.which[0];
  s.event_ys = own.ys;
}

}  // namespace apsis::detail
