#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/diffeq/controller.hpp"
#include "apsis/diffeq/solve.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/next_float.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/sort.hpp"

namespace apsis {
namespace {

bool some(const Times& ts) { return !ts.is_empty() && ts.size() > 0; }

/// Times that run forwards, one after the other.
Array forward(const Times& ts, const ControllerStart& s) {
  return sort(astype(ts, s.t0.dtype()) * astype(s.direction, s.t0.dtype()));
}

/// The first of the times beyond `start`, or `end`, if that comes earlier; up to rounding, so that no step is
/// left that is made of it.
Array clipped(const Array& start, const Array& end, const Array& ts) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Array next = min(where(ts > start, ts, infinity));
  const Array slack = 8 * finfo(ts.dtype()).eps * abs(stop_gradient(next));
  return where(stop_gradient(end) >= stop_gradient(next) - slack, next, end);
}

/// What the controller keeps: that of the one it wraps, then this.
struct Own {
  std::vector<Array> inner, step_ts, jump_ts, rejected;  // one array each, if there is one
  std::vector<Array> together() const {
    std::vector<Array> all = inner;
    for (const auto* part : {&step_ts, &jump_ts, &rejected})
      all.insert(all.end(), part->begin(), part->end());
    return all;
  }
};

Own parts(const ClipStepSizeController& c, std::span<const Array> state) {
  Own own;
  const auto take = [&](std::vector<Array>& part, bool there) {
    if (!there) return;
    part.push_back(state.back());
    state = state.first(state.size() - 1);
  };
  take(own.rejected, c.store_rejected_steps > 0);
  take(own.jump_ts, some(c.jump_ts));
  take(own.step_ts, some(c.step_ts));
  own.inner.assign(state.begin(), state.end());
  return own;
}

/// Times at which steps were rejected, the earliest last, +inf where there is none; with this attempt.
void remember(const ControllerStep& s, Array& times, NextStep& next) {
  // This attempt did not go beyond the last of them: where it was accepted there, that one is done.
  const std::int64_t rows = times.size();
  const Array count = sum(astype(isfinite(times), Dtype::I64));
  const Array reached = count > 0 && times[maximum(count - 1, 0)] == s.t1;
  const Array left = count - where(reached, 1, 0), row = arange(rows);
  const Array kept = where(row < left, times, std::numeric_limits<double>::infinity());
  times = where(!next.accept && row == left, s.t1, kept);
  const Array full = !next.accept && left >= rows;
  next.code =
      where(full && next.code == 0, static_cast<std::int64_t>(SolveResult::MaxStepsRejected), next.code);
}

}  // namespace

FirstStep ClipStepSizeController::first_step(const ControllerStart& s) const {
  const bool goes_on = !s.end.is_empty();
  const Own kept = goes_on ? parts(*this, s.state) : Own();
  ControllerStart inner = s;
  inner.state = kept.inner;
  FirstStep first = controller.first_step(inner);
  Own own{first.state, {}, {}, {}};
  if (some(step_ts)) {
    own.step_ts.push_back(forward(step_ts, s));
    first.end = clipped(s.t0, first.end, own.step_ts[0]);
  }
  if (some(jump_ts)) {
    own.jump_ts.push_back(prevbefore(forward(jump_ts, s)));
    first.end = clipped(s.t0, first.end, own.jump_ts[0]);
  }
  if (store_rejected_steps > 0 && goes_on)
    own.rejected = kept.rejected;
  else if (store_rejected_steps > 0)
    own.rejected.push_back(
        full({store_rejected_steps}, std::numeric_limits<double>::infinity(), s.t0.dtype()));
  return {first.end, own.together(), first.tells_error};
}

NextStep ClipStepSizeController::next_step(const ControllerStep& s) const {
  Own own = parts(*this, s.state);
  NextStep next = controller.next_step({s.t0, s.t1, s.end, s.y0, s.y1, s.error, s.order, own.inner});
  own.inner = next.state;
  if (!own.jump_ts.empty()) {
    // `prevbefore` of a jump has been reached: that of the jump itself is left out.
    const Array made = next.accept && any(own.jump_ts[0] == next.start);
    const Array behind = nextafter(nextafter(next.start));
    next.start = where(made, behind, next.start);
    next.end = where(made, maximum(next.end, nextafter(behind)), next.end);
    next.jump = next.jump.is_empty() ? made : next.jump || made;
  }
  for (const auto* ts : {&own.step_ts, &own.jump_ts})
    if (!ts->empty()) next.end = clipped(next.start, next.end, (*ts)[0]);
  if (!own.rejected.empty()) {
    remember(s, own.rejected[0], next);
    next.end = clipped(next.start, next.end, own.rejected[0]);
  }
  next.state = own.together();
  return next;
}

}  // namespace apsis
