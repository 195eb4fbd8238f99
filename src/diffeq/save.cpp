// What a solve saves. Rows that are not used are +inf, times and states, whatever the direction of the solve.

#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/control/cond.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/transform/eval_shape.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The forward time of unused rows: +inf when it is turned back.
Array unused_time(const Problem& p) { return infinity * p.slopes.direction(); }

/// A row that is not used, or several.
Array unused(const Shape& shape, Dtype dtype) {
  if (dtype == Dtype::Bool) return full(shape, false);
  if (!is_floating(dtype) && !is_complex(dtype)) return full(shape, iinfo(dtype).max, dtype);
  return full(shape, infinity, dtype);
}
Shape with_rows(std::int64_t rows, const Array& row) {
  Shape shape = row.shape();
  shape.insert(0, rows);
  return shape;
}

/// What is saved of a state.
std::vector<Array> row_of(const Problem& p, const SavePart& part, const Array& t, std::span<const Array> y) {
  if (!part.request.fn.is_set()) return {y.begin(), y.end()};
  return part.request.fn(p.like.tree, t * p.slopes.direction(), y);
}

/// Saves all times of `ts` that this step covers, by dense output.
void save_times(const Problem& p, const SavePart& part, const LoopState& s, const SolverAttempt& step,
                const Array& accept, const Reached& reached, SavedRows& saved) {
  const auto which = [](const SavedRows& v) { return v.next_time.empty() ? v.count : v.next_time[0]; };
  const std::int64_t count = part.ts.size();
  Array reach = where(accept, reached.t, -infinity);
  Array length = s.end - s.start, h = length * p.slopes.direction();
  saved = while_loop([&](const SavedRows& v) { return which(v) < count && part.ts[which(v)] <= reach; },
                     [&](const SavedRows& v) {
                       const Array t = part.ts[which(v)], theta = (t - s.start) / length;
                       const std::vector<Array> y = row_of(
                           p, part, t, checked_interpolation(p.solver, {theta, h, s.y, step.y1, step.dense}));
                       SavedRows more{v.count + 1, v.next_time, v.ts, {}};
                       for (Array& time : more.next_time) time = time + 1;
                       for (Array& ts : more.ts) ts = ts.at(v.count).set(t, IndexMode::Clip);
                       for (std::size_t i = 0; i < y.size(); ++i)
                         more.ys.push_back(v.ys[i].at(v.count).set(y[i], IndexMode::Clip));
                       return more;
                     },
                     saved);
}

/// Saves every n-th accepted step. The row in question is written each time, and counted only when it stays.
void save_step(const Problem& p, const SavePart& part, const Array& accept, const Reached& reached,
               const Array& accepted, SavedRows& saved) {
  const Array keep = accept && remainder(accepted, part.request.at.steps) == 0, row = saved.count;
  saved.ts[0] = saved.ts[0].at(row).set(where(keep, reached.t, unused_time(p)));
  std::vector<Array> none;
  for (const Array& like : part.like) none.push_back(unused(like.shape(), like.dtype()));
  std::vector<Array> y = reached.y;
  if (part.request.fn.is_set())
    y = cond(
        keep,
        [&](const Array& t, const std::vector<Array>& now, const std::vector<Array>&) {
          return row_of(p, part, t, now);
        },
        [](const Array&, const std::vector<Array>&, const std::vector<Array>& no) { return no; }, reached.t,
        reached.y, none);
  else
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = where(keep, y[i], none[i]);
  for (std::size_t i = 0; i < y.size(); ++i) saved.ys[i] = saved.ys[i].at(row).set(y[i]);
  saved.count = row + where(keep, 1, 0);
}

/// All rows between t0 and t1.
FlatSaved rows_between(const Problem& p, const SavePart& part, const SavedRows& saved, bool stopped) {
  const std::int64_t rows = part.rows(), known = part.saves_times() ? part.ts.size() : 0;
  // Without a single step all save times are t0.
  const Array no_step = p.refused.is_empty() ? p.t0 == p.t1 : p.t0 == p.t1 && !p.refused;
  const Array row = arange(rows);
  FlatSaved all{Array(), known > 0 ? where(no_step, known, saved.count) : saved.count, {}};
  all.ts = !saved.ts.empty() ? saved.ts[0] : rows > 0 ? part.ts : full({0}, 0., p.t0.dtype());
  if (known > 0) {
    if (!saved.ts.empty())
      all.ts = where(no_step && row < known, p.t0, all.ts);
    else if (!p.options.throw_ || stopped)  // otherwise all were saved
      all.ts = where(row < saved.count || no_step, all.ts, unused_time(p));
  }
  const std::vector<Array> first = known > 0 ? row_of(p, part, p.t0, p.y0) : std::vector<Array>();
  for (std::size_t i = 0; i < part.like.size(); ++i) {
    const Array& like = part.like[i];
    const Shape shape = with_rows(rows, like);
    Array ys = rows > 0 ? saved.ys[i] : unused(shape, like.dtype());
    if (known > 0) {
      Shape column{rows};
      for (std::size_t k = 0; k < like.shape().size(); ++k) column.push_back(1);
      const Array at_first = known == rows ? no_step : no_step && reshape(row < known, column);
      ys = where(at_first, broadcast_to(first[i], shape), ys);
    }
    all.ys.push_back(ys);
  }
  // How many steps there were is known after a solve that ran: no row is left over.
  if (const Array used = part.step_rows > 0 ? concrete_value(all.rows) : Array(); !used.is_empty()) {
    const Index those = range(0, used.item<std::int64_t>());
    all.ts = all.ts[those];
    for (Array& ys : all.ys) ys = ys[those];
  }
  return all;
}

FlatSaved collect_part(const Problem& p, const SavePart& part, const LoopState& end, const SavedRows& saved) {
  const SaveTimes& save = part.request.at;
  const bool between = !save.ts.is_empty() || save.steps > 0;
  std::vector<Array> times;
  std::vector<std::vector<Array>> rows(part.like.size());
  Array count = array(std::int64_t{0});
  const auto add_row = [&](const Array& t, std::span<const Array> y) {
    times.push_back(expand_dims(t, 0));
    const std::vector<Array> row = row_of(p, part, t, y);
    for (std::size_t i = 0; i < row.size(); ++i) rows[i].push_back(expand_dims(row[i], 0));
    count = count + 1;
  };
  if (save.t0) add_row(p.t0, p.y0);
  if (between) {
    const FlatSaved all = rows_between(p, part, saved, end.events.has_value());
    times.push_back(all.ts);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(all.ys[i]);
    count = count + all.rows;
  }
  if (save.t1 || (!save.t0 && !between)) add_row(end.start, end.y);
  FlatSaved s{(times.size() == 1 ? times[0] : concatenate(times)) * p.slopes.direction(), count, {}};
  for (const auto& leaf : rows) s.ys.push_back(leaf.size() == 1 ? leaf[0] : concatenate(leaf));
  return s;
}

SolveStats stats_of(const Problem& p, const LoopState& end) {
  std::vector<Array> work = end.work;
  for (std::size_t i = 0; work.size() < 3; ++i)
    work.push_back(i < p.work.size() ? end.attempts * p.work[i] : zeros_like(end.attempts));
  return {end.attempts, end.accepted, end.attempts - end.accepted, work[0], work[1], work[2]};
}

}  // namespace

SavePart save_part(const Problem& p, FlatSave request, const Array& ts) {
  const std::int64_t steps = request.at.steps;
  SavePart part{std::move(request), ts, p.y0, steps > 0 ? p.options.max_steps / steps : 0};
  if (!part.request.fn.is_set()) return part;
  std::vector<Array> in{p.t0};
  in.insert(in.end(), p.y0.begin(), p.y0.end());
  const auto row = [&](std::span<const Array> v) { return row_of(p, part, v[0], v.subspan(1)); };
  part.like = eval_shape_call(callee_of(row), in);
  if (part.like.empty()) fail(messages::save_nothing, {part.request.name});
  return part;
}

void start_saving(const Problem& p, LoopState& s) {
  for (const SavePart& part : p.saves) {
    SavedRows saved{array(std::int64_t{0}), {}, {}, {}};
    const std::int64_t rows = part.rows();
    if (rows > 0)
      for (const Array& like : part.like) saved.ys.push_back(unused(with_rows(rows, like), like.dtype()));
    if (part.step_rows > 0) saved.ts.push_back(full({rows}, infinity, p.t0.dtype()) * p.slopes.direction());
    if (part.step_rows > 0 && part.saves_times()) saved.next_time.push_back(array(std::int64_t{0}));
    s.saved.push_back(saved);
  }
}

void save_attempt(const Problem& p, const LoopState& s, const SolverAttempt& step, const Array& accept,
                  const Reached& reached, LoopState& next) {
  for (std::size_t i = 0; i < p.saves.size(); ++i) {
    const SavePart& part = p.saves[i];
    if (part.saves_times()) save_times(p, part, s, step, accept, reached, next.saved[i]);
    if (part.step_rows > 0) save_step(p, part, accept, reached, next.accepted, next.saved[i]);
  }
}

void count_work(Problem& p, const StepWork& work, LoopState& next) {
  const Array* const of_step[] = {&work.evaluations, &work.jacobians, &work.factorisations};
  if (!p.solver.traits.varying_work) p.work.clear();
  for (std::size_t i = 0; i < 3; ++i)
    if (p.solver.traits.varying_work)
      next.work[i] = next.work[i] + *of_step[i];
    else
      p.work.push_back(of_step[i]->item<std::int64_t>());
}

FlatSolution collect(const Problem& p, const LoopState& end, const Array& code) {
  FlatSolution s;
  for (std::size_t i = 0; i < p.saves.size(); ++i)
    s.saved.push_back(collect_part(p, p.saves[i], end, end.saved[i]));
  s.stats = stats_of(p, end);
  s.result = code;
  collect_events(p, end, code, s);
  if (p.options.saveat.dense) collect_dense(p, end, s);
  collect_memories(p, end, s);
  return s;
}

}  // namespace apsis::detail
