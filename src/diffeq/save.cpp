// What a solve saves. Rows that are not used are +inf, times and states, whatever the direction of the solve.

#include <limits>

#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool saves_steps(const Problem& p) { return p.options.saveat.steps > 0; }

/// Rows for what is saved between t0 and t1.
std::int64_t rows_of(const Problem& p) { return (p.saves_times() ? p.ts.size() : 0) + p.step_rows(); }

/// The forward time of unused rows: +inf when it is turned back.
Array unused_time(const Problem& p) { return infinity * p.slopes.direction(); }

/// Saves all times of saveat.ts that this step covers, by dense output.
void save_times(const Problem& p, const LoopState& s, const SolverAttempt& step, const Array& accept,
                const Reached& reached, LoopState& next) {
  struct Saving {
    Array row;
    std::vector<Array> time, ts, ys;
  };
  const auto which = [](const Saving& v) { return v.time.empty() ? v.row : v.time[0]; };
  const std::int64_t count = p.ts.size();
  Array reach = where(accept, reached.t, -infinity);
  Array length = s.end - s.start, h = length * p.slopes.direction();
  Saving done = while_loop(
      [&](const Saving& v) { return which(v) < count && p.ts[which(v)] <= reach; },
      [&](const Saving& v) {
        const Array t = p.ts[which(v)], theta = (t - s.start) / length;
        const std::vector<Array> y = checked_interpolation(p.solver, {theta, h, s.y, step.y1, step.dense});
        Saving more{v.row + 1, v.time, v.ts, {}};
        for (Array& time : more.time) time = time + 1;
        for (Array& ts : more.ts) ts = ts.at(v.row).set(t, IndexMode::Clip);
        for (std::size_t i = 0; i < y.size(); ++i)
          more.ys.push_back(v.ys[i].at(v.row).set(y[i], IndexMode::Clip));
        return more;
      },
      Saving{s.saved, s.next_time, s.saved_ts, s.saved_ys});
  next.saved = done.row;
  next.next_time = done.time;
  next.saved_ts = done.ts;
  next.saved_ys = done.ys;
}

/// Saves every n-th accepted step. The row in question is written each time, and counted only when it stays.
void save_step(const Problem& p, const Array& accept, const Reached& reached, LoopState& next) {
  Array keep = accept && remainder(next.accepted, p.options.saveat.steps) == 0;
  Array row = next.saved;
  next.saved_ts[0] = next.saved_ts[0].at(row).set(where(keep, reached.t, unused_time(p)));
  for (std::size_t i = 0; i < next.saved_ys.size(); ++i)
    next.saved_ys[i] =
        next.saved_ys[i].at(row).set(where(keep, reached.y[i], full_like(next.y[i], infinity)));
  next.saved = row + where(keep, 1, 0);
}

}  // namespace

void start_saving(const Problem& p, LoopState& s) {
  s.saved = array(std::int64_t{0});
  const std::int64_t rows = rows_of(p);
  if (rows == 0) return;
  for (const Array& y : p.y0) {
    Shape shape = y.shape();
    shape.insert(0, rows);
    s.saved_ys.push_back(full(shape, infinity, y.dtype()));
  }
  if (p.step_rows() > 0) s.saved_ts.push_back(full({rows}, infinity, p.t0.dtype()) * p.slopes.direction());
  if (p.step_rows() > 0 && p.saves_times()) s.next_time.push_back(array(std::int64_t{0}));
}

void save_attempt(const Problem& p, const LoopState& s, const SolverAttempt& step, const Array& accept,
                  const Reached& reached, LoopState& next) {
  if (p.saves_times()) save_times(p, s, step, accept, reached, next);
  if (p.step_rows() > 0) save_step(p, accept, reached, next);
}

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
  if (!save.ts.is_empty() || saves_steps(p)) {
    const std::int64_t rows = rows_of(p), known = p.saves_times() ? p.ts.size() : 0;
    // Without a single step all save times are t0.
    const Array no_step = p.refused.is_empty() ? p.t0 == p.t1 : p.t0 == p.t1 && !p.refused;
    const Array row = arange(rows);
    Array ts = !end.saved_ts.empty() ? end.saved_ts[0] : rows > 0 ? p.ts : full({0}, 0., p.t0.dtype());
    if (known > 0) {
      if (!end.saved_ts.empty())
        ts = where(no_step && row < known, p.t0, ts);
      else if (!p.options.throw_ || end.events)  // otherwise all were saved
        ts = where(row < end.saved || no_step, ts, unused_time(p));
    }
    times.push_back(ts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Array& y0 = p.y0[i];
      Shape shape = y0.shape();
      shape.insert(0, rows);
      Array ys = rows > 0 ? end.saved_ys[i] : full(shape, infinity, y0.dtype());
      if (known > 0) {
        Shape column{rows};
        for (std::size_t k = 0; k < y0.shape().size(); ++k) column.push_back(1);
        Array first = known == rows ? no_step : no_step && reshape(row < known, column);
        ys = where(first, broadcast_to(y0, shape), ys);
      }
      parts[i].push_back(ys);
    }
  }
  if (t1) add_row(end.start, end.y);
  FlatSolution s;
  s.ts = (times.size() == 1 ? times[0] : concatenate(times)) * p.slopes.direction();
  for (auto& leaf : parts) s.ys.push_back(leaf.size() == 1 ? leaf[0] : concatenate(leaf));
  s.stats = {end.attempts, end.accepted, end.attempts - end.accepted};
  s.result = code;
  collect_events(p, end, code, s);
  if (save.dense) collect_dense(p, end, s);
  return s;
}

}  // namespace apsis::detail
