// All steps of a solve, kept, and the state at any time by them.

#include "apsis/diffeq/dense.hpp"

#include <algorithm>
#include <limits>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/sort.hpp"
#include "apsis/transform/eval_shape.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {
namespace {

/// What a step gives to the interpolation: shapes and dtypes.
std::vector<Array> shapes_within(const Problem& p, const LoopState& s) {
  std::vector<Array> in{s.start, s.end};
  in.insert(in.end(), s.y.begin(), s.y.end());
  in.insert(in.end(), s.solver.begin(), s.solver.end());
  const auto step = [&](std::span<const Array> v) {
    PathMemory paths = s.paths;
    const Slopes slopes = p.slopes.remembering(paths);
    const std::span<const Array> y = v.subspan(2, s.y.size()), own = v.subspan(2 + s.y.size());
    return checked_step(p.solver, {slopes, v[0], v[1], y, own, p.tolerances}).dense;
  };
  return eval_shape_call(callee_of(step), in);
}

}  // namespace

void start_dense(const Problem& p, LoopState& s) {
  const std::int64_t rows = std::max<std::int64_t>(p.options.max_steps, 1);
  const auto room = [&](const std::vector<Array>& like) {
    std::vector<Array> out;
    for (const Array& a : like) {
      Shape shape = a.shape();
      shape.insert(0, rows);
      out.push_back(zeros(shape, a.dtype()));
    }
    return out;
  };
  DenseState d;
  d.ts = full({rows + 1}, std::numeric_limits<double>::infinity(), p.t0.dtype()).at(0).set(p.t0);
  d.lengths = zeros({rows}, p.t0.dtype());
  d.y0 = room(p.y0);
  d.y1 = room(p.y0);
  d.within = room(shapes_within(p, s));
  s.dense = std::move(d);
}

void keep_attempt(const LoopState& s, const SolverAttempt& step, const Array& accept, const Reached& reached,
                  LoopState& next) {
  DenseState& d = *next.dense;
  const Array& row = s.accepted;
  const auto keep = [&](std::vector<Array>& rows, std::span<const Array> values) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = rows[i].at(row).set(values[i]);
  };
  d.ts = d.ts.at(row + 1).set(where(accept, reached.t, std::numeric_limits<double>::infinity()));
  d.lengths = d.lengths.at(row).set(s.end - s.start);
  keep(d.y0, s.y);
  keep(d.y1, step.y1);
  keep(d.within, step.dense);
}

void collect_dense(const Problem& p, const LoopState& end, FlatSolution& s) {
  const DenseState& d = *end.dense;
  s.dense = {end.accepted, p.slopes.direction(), d.ts, d.lengths, p.y0, d.y0, d.y1, d.within};
}

void require_dense(const Array& count, Loc loc) {
  if (count.is_empty()) fail(messages::dense_missing, {}, loc);
}

std::vector<Array> dense_at(const SolverRef& solver, const DenseSteps<std::vector<Array>>& s, const Array& t,
                            Side side) {
  const Array last = maximum(s.count - 1, 0);
  const Array row = clip(searchsorted(s.ts, t, side == Side::Right) - 1, 0, last);
  const Array length = s.lengths[row], made = s.count > 0;
  const Array theta = (t - s.ts[row]) / where(made, length, 1.), h = length * s.direction;
  const auto rows = [&](const std::vector<Array>& all) {
    std::vector<Array> out;
    for (const Array& a : all) out.push_back(a[row]);
    return out;
  };
  const std::vector<Array> y0 = rows(s.y0), y1 = rows(s.y1), within = rows(s.within);
  std::vector<Array> y = checked_interpolation(solver, {theta, h, y0, y1, within});
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = where(made, y[i], s.start[i]);
  return y;
}

std::vector<Array> dense_value(const SolverRef& solver, const DenseSteps<std::vector<Array>>& s,
                               const Array& time, Side side, Loc loc) {
  const LocScope place(loc);
  require_dense(s.count, loc);
  if (time.is_empty() || time.ndim() != 0 || is_complex(time.dtype()))
    fail(messages::dense_time, {time.is_empty() ? "empty" : to_string(time.aval())}, loc);
  const Array t = astype(time, s.ts.dtype()) * s.direction;
  std::vector<Array> y = dense_at(solver, s, t, side);
  const Array inside = s.ts[0] <= t && t <= s.ts[s.count];
  for (Array& a : y) a = where(inside, a, std::numeric_limits<double>::quiet_NaN());
  return y;
}

}  // namespace apsis::detail
