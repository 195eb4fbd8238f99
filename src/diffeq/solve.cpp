// The solve: promote, start, loop over steps, save, report. Written on the public API alone.

#include <algorithm>
#include <limits>

#include "apsis/control/error_if.hpp"
#include "apsis/control/progress.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/norm.hpp"
#include "diffeq/step.hpp"

namespace apsis::detail {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What the loop over steps carries. Times run forwards.
struct LoopState {
  Array start, end;             // of the next attempt
  std::vector<Array> y, slope;  // at `start`; the slope only for methods that reuse it
  std::vector<Array> controller;
  Array attempts, accepted, code;  // i64
  Array saved;                     // rows written: of ts, or of steps
  Array saved_ts;                  // for steps
  std::vector<Array> saved_ys;
};

struct Problem {
  const RungeKutta& method;
  Field field;
  Array t0, t1;  // forward times
  Array dt0;
  std::vector<Array> y0;
  Array ts;  // forward save times, or empty
  const SolveOptions& options;
};

void check_scalar(const Array& t, const char* name, Loc loc) {
  if (t.ndim() != 0) fail(messages::time_not_scalar, {name, to_string(t.aval())}, loc);
}

/// The dtype of times: the promotion of times and state, at least floating.
Dtype common_dtype(std::span<const Array> times, std::span<const Array> y0) {
  WeakDtype common{Dtype::F64, true};
  for (const Array& t : times)
    if (!t.is_empty()) common = promote(common, {t.dtype(), t.weak()});
  for (const Array& y : y0) common = promote(common, {y.dtype(), y.weak()});
  return common.dtype;
}

void check_problem(std::span<const Array> y0, const LeafNames& names, const SolveOptions& options, Loc loc) {
  if (y0.empty()) fail(messages::empty_state, {}, loc);
  for (std::size_t i = 0; i < y0.size(); ++i)
    if (!is_floating(y0[i].dtype()))
      fail(messages::state_not_floating, {names(i), to_string(y0[i].aval())}, loc);
  if (!options.saveat.ts.is_empty() && options.saveat.ts.ndim() != 1)
    fail(messages::save_times, {to_string(options.saveat.ts.aval())}, loc);
  if (options.max_steps < -1) fail(messages::negative_attempts, {std::to_string(options.max_steps)}, loc);
  if (options.saveat.steps > 0 && options.max_steps < 0) fail(messages::steps_without_bound, {}, loc);
}

/// The first slope; tells of vector fields that do not fit the state.
std::vector<Array> first_slope(const Problem& p, Loc loc) {
  std::vector<Array> slope = p.field(p.t0, p.y0);
  for (std::size_t i = 0; i < p.y0.size(); ++i) {
    std::string got = i < slope.size() ? to_string(slope[i].aval()) : "missing";
    if (i >= slope.size() || slope[i].shape() != p.y0[i].shape() ||
        (slope[i].dtype() != p.y0[i].dtype() && !slope[i].weak()))
      fail(messages::slope_mismatch, {p.field.field.state(i), to_string(p.y0[i].aval()), got}, loc);
  }
  return slope;
}

/// Room for `rows` states, all +inf.
std::vector<Array> rows_of(std::span<const Array> y, std::int64_t rows) {
  std::vector<Array> out;
  for (const Array& a : y) {
    Shape shape = a.shape();
    shape.insert(0, rows);
    out.push_back(full(shape, infinity, a.dtype()));
  }
  return out;
}

/// Saves all times of saveat.ts that this step covers, by dense output.
void save_times(const Problem& p, const LoopState& s, const Step& step, const Array& accept,
                LoopState& next) {
  struct Saving {
    Array row;
    std::vector<Array> ys;
  };
  std::int64_t count = p.ts.size();
  Array reach = where(accept, s.end, -infinity);
  Array length = s.end - s.start, h = length * p.field.direction;
  Saving done = while_loop([&](const Saving& v) { return v.row < count && p.ts[v.row] <= reach; },
                           [&](const Saving& v) {
                             Array theta = (p.ts[v.row] - s.start) / length;
                             std::vector<Array> y = dense_output(p.method, theta, h, s.y, step.slopes), ys;
                             for (std::size_t i = 0; i < y.size(); ++i)
                               ys.push_back(v.ys[i].at(v.row).set(y[i], IndexMode::Clip));
                             return Saving{v.row + 1, ys};
                           },
                           Saving{s.saved, s.saved_ys});
  next.saved = done.row;
  next.saved_ys = done.ys;
}

/// Saves every n-th accepted step. The row in question is written each time, and counted only when it stays.
void save_step(const Problem& p, const LoopState& s, const Array& accept, LoopState& next) {
  Array keep = accept && remainder(next.accepted, p.options.saveat.steps) == 0;
  next.saved_ts = s.saved_ts.at(s.saved).set(where(keep, s.end, infinity));
  for (std::size_t i = 0; i < s.saved_ys.size(); ++i)
    next.saved_ys[i] = s.saved_ys[i].at(s.saved).set(where(keep, next.y[i], full_like(next.y[i], infinity)));
  next.saved = s.saved + where(keep, 1, 0);
}

LoopState attempt(const Problem& p, const LoopState& s, Loc loc) {
  std::vector<Array> first = p.method.first_same_as_last ? s.slope : p.field(s.start, s.y);
  Step step = runge_kutta_step(p.method, p.field, s.start, s.end, s.y, first);
  NextStep decision =
      p.options.controller.next_step({s.start, s.end, p.t1, s.y, step.y1, step.error,
                                      p.method.error.empty() ? 0 : p.method.order, s.controller});
  const Array& accept = decision.accept;

  LoopState next = s;
  for (std::size_t i = 0; i < s.y.size(); ++i) next.y[i] = where(accept, step.y1[i], s.y[i]);
  for (std::size_t i = 0; i < s.slope.size(); ++i)
    next.slope[i] = where(accept, step.slopes.back()[i], s.slope[i]);
  next.controller = decision.state;
  next.attempts = s.attempts + 1;
  next.accepted = s.accepted + where(accept, 1, 0);
  next.start = decision.start;
  // A step that would end within some ULPs of t1, or beyond, ends there.
  double slack = 100 * (p.t1.dtype() == Dtype::F64 ? 0x1p-52 : 0x1p-23);
  next.end = where(decision.end > p.t1 - slack * abs(p.t1), p.t1, decision.end);
  // The end is reached: what the controller says of further steps does not matter.
  next.code =
      where(next.start < p.t1, decision.code,
            where(decision.code == static_cast<std::int64_t>(SolveResult::NonFinite), decision.code, 0));
  if (p.options.progress.on())
    report_progress(p.options.progress, next.attempts, (next.start - p.t0) / (p.t1 - p.t0), loc);
  if (!p.ts.is_empty())
    save_times(p, s, step, accept, next);
  else if (p.options.saveat.steps > 0)
    save_step(p, s, accept, next);
  return next;
}

LoopState start_state(const Problem& p, Loc loc) {
  std::vector<Array> slope = first_slope(p, loc);
  auto signed_slope_at = [](const void* context, const Array& t, std::span<const Array> y) {
    const Field& field = *static_cast<const Field*>(context);
    std::vector<Array> k = field(t, y);
    for (Array& a : k) a = a * field.direction;
    return k;
  };
  std::vector<Array> forward_slope;
  for (const Array& k : slope) forward_slope.push_back(k * p.field.direction);
  FirstStep first = p.options.controller.first_step({p.t0, p.t1, p.dt0, p.y0, forward_slope,
                                                     p.method.error.empty() ? 0 : p.method.order,
                                                     signed_slope_at, &p.field});
  LoopState s;
  s.start = p.t0;
  s.end = minimum(first.end, p.t1);
  s.y = p.y0;
  if (p.method.first_same_as_last) s.slope = slope;
  s.controller = first.state;
  s.attempts = s.accepted = s.saved = array(std::int64_t{0});
  s.code = where(all_finite(slope), 0, static_cast<std::int64_t>(SolveResult::NonFinite));
  if (!p.ts.is_empty()) {
    s.saved_ys = rows_of(p.y0, p.ts.size());
  } else if (p.options.saveat.steps > 0) {
    std::int64_t rows = p.options.max_steps / p.options.saveat.steps;
    s.saved_ys = rows_of(p.y0, rows);
    s.saved_ts = full({rows}, infinity, p.t0.dtype());
  }
  return s;
}

/// Puts what was asked for together: t0, then ts or steps, then t1.
FlatSolution collect(const Problem& p, const LoopState& end, const Array& code) {
  const SaveAt& save = p.options.saveat;
  bool t1 = save.t1 || (!save.t0 && save.ts.is_empty() && save.steps == 0);
  std::vector<Array> times;
  std::vector<std::vector<Array>> parts(p.y0.size());
  auto add_row = [&](const Array& t, std::span<const Array> y) {
    times.push_back(expand_dims(t, 0));
    for (std::size_t i = 0; i < y.size(); ++i) parts[i].push_back(expand_dims(y[i], 0));
  };
  if (save.t0) add_row(p.t0, p.y0);
  if (!p.ts.is_empty() || save.steps > 0) {
    times.push_back(p.ts.is_empty() ? end.saved_ts : p.ts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      // Without a single step all times are t0.
      Array ys = end.saved_ys[i];
      if (!p.ts.is_empty()) ys = where(p.t0 == p.t1, broadcast_to(p.y0[i], ys.shape()), ys);
      parts[i].push_back(ys);
    }
  }
  if (t1) add_row(end.start, end.y);
  FlatSolution s;
  s.ts = (times.size() == 1 ? times[0] : concatenate(times)) * p.field.direction;
  for (auto& leaf : parts) s.ys.push_back(leaf.size() == 1 ? leaf[0] : concatenate(leaf));
  s.stats = {end.attempts, end.accepted, end.attempts - end.accepted};
  s.result = code;
  return s;
}

}  // namespace

FlatSolution solve_flat(const VectorField& field, const RungeKutta& method, const Array& t0, const Array& t1,
                        const Array& dt0, std::vector<Array> y0, const SolveOptions& options, Loc loc) {
  const LocScope place(loc);
  check_scalar(t0, "t0", loc);
  check_scalar(t1, "t1", loc);
  if (!dt0.is_empty()) check_scalar(dt0, "dt0", loc);
  check_problem(y0, field.state, options, loc);
  const Array times[] = {t0, t1, dt0, options.saveat.ts};
  Dtype dtype = common_dtype(times, y0);
  for (Array& y : y0) y = astype(y, promote({dtype, false}, {y.dtype(), y.weak()}).dtype);
  Array first = astype(t0, dtype), last = astype(t1, dtype);
  Array direction = astype(where(last < first, -1., 1.), dtype);
  Problem p{method,
            Field{field, direction},
            first * direction,
            last * direction,
            dt0.is_empty() ? Array() : astype(dt0, dtype) * direction,
            std::move(y0),
            options.saveat.ts.is_empty() ? Array() : astype(options.saveat.ts, dtype) * direction,
            options};

  LoopState start = start_state(p, loc);
  LoopState end = while_loop(
      [&](const LoopState& s) {
        Array unfinished = s.start < p.t1 && s.code == 0;
        return options.max_steps < 0 ? unfinished : unfinished && s.attempts < options.max_steps;
      },
      [&](const LoopState& s) { return attempt(p, s, loc); }, start,
      {.checkpoints = options.checkpoints, .checkpoint_bytes = options.checkpoint_bytes}, loc);

  static_assert(static_cast<std::int64_t>(LoopResult::MaxStepsReached) ==
                static_cast<std::int64_t>(SolveResult::MaxStepsReached));
  constexpr auto too_many = static_cast<std::int64_t>(SolveResult::MaxStepsReached);
  Array code = where(end.code == 0 && end.start < p.t1, too_many, end.code);
  if (options.throw_) {
    auto number = [&](SolveResult r, std::int64_t n) {
      return where(code == static_cast<std::int64_t>(r), n, 0);
    };
    error_if_code(number(SolveResult::MaxStepsReached, 1) + number(SolveResult::NonFinite, 2) +
                      number(SolveResult::DtMinReached, 3),
                  {messages::max_steps_reached, messages::non_finite, messages::dt_min_reached}, {}, loc);
  }
  return collect(p, end, code);
}

}  // namespace apsis::detail
