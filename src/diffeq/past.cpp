#include "diffeq/past.hpp"

#include <limits>

#include "apsis/array/dtype.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "diffeq/messages.hpp"

namespace apsis::detail {
namespace {

/// More points than this are not worth while: those of several delays are left to the step size controller.
constexpr std::size_t most_breaks = 500;

/// How often each of `delays` delays may pass, in all up to `order` times: each way once.
std::vector<std::vector<double>> multiples(std::size_t delays, int order) {
  std::vector<std::vector<double>> all{std::vector<double>(delays, 0.)};
  std::size_t begin = 0;
  for (int n = 1; n <= order; ++n) {
    const std::size_t end = all.size();
    for (std::size_t k = begin; k < end; ++k)
      for (std::size_t d = 0; d < delays; ++d) {
        bool later = false;  // those of later delays come from there
        for (std::size_t e = d + 1; e < delays; ++e) later = later || all[k][e] > 0;
        if (later) continue;
        all.push_back(all[k]);
        all.back()[d] += 1;
      }
    if (all.size() > most_breaks) {
      all.resize(end);
      break;
    }
    begin = end;
  }
  all.erase(all.begin());
  return all;
}

Array delays_of(const FlatTerms& terms, Dtype dtype) {
  return reshape(astype(terms.delays.delays, dtype), {-1});
}

/// Where a time is no later than another but for rounding.
Array rounding_at(const Array& t) { return 100 * finfo(t.dtype()).eps * abs(stop_gradient(t)); }

}  // namespace

PastStates::PastStates(const FlatTerms& terms, const SolverRef& solver, const Array& t0,
                       const Array& direction, std::span<const Array> y0)
    : terms_(terms), solver_(solver), t0_(t0), direction_(direction), y0_(y0.begin(), y0.end()) {
  lookup_ = {this, [](const void* self, const Array& t, const Array& now, Loc loc) {
               return static_cast<const PastStates*>(self)->at(t, now, loc);
             }};
}

void PastStates::look(const LoopState& s, const Array& end) {
  if (terms_.delays.slope == nullptr) return;
  const DenseState& d = *s.dense;
  steps_ = {s.accepted, direction_, d.ts, d.lengths, y0_, d.y0, d.y1, d.within};
  start_ = s.start;
  middle_ = end.is_empty() ? Array() : stop_gradient(0.5 * (s.start + end));
}

std::vector<Array> PastStates::at(const Array& t, const Array& now, Loc loc) const {
  const LocScope place(loc);
  if (t.is_empty() || t.ndim() != 0 || is_complex(t.dtype()))
    fail(messages::past_time, {t.is_empty() ? "empty" : to_string(t.aval())}, loc);
  const Array when = astype(t, t0_.dtype()) * direction_;
  // A step lies between two points where something jumps, and so does the time as long before its middle.
  const Array moved = middle_.is_empty() ? when : when + (middle_ - stop_gradient(now) * direction_);
  const Array before = moved < t0_;
  std::vector<Array> y = terms_.delays.history(terms_.context, where(before, when, t0_) * direction_), behind;
  if (steps_.count.is_empty()) {
    behind = y0_;
  } else {
    if (!middle_.is_empty())
      raise(where(when > start_ + rounding_at(start_) + rounding_at(when), 1, 0),
            {Text(messages::past_too_late, {"{0}", "{1}", "{2}"})},
            std::vector<Array>{when * direction_, now, start_ * direction_}, loc);
    behind = dense_at(solver_, steps_, minimum(where(before, t0_, when), start_));
  }
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = where(before, astype(y[i], y0_[i].dtype()), behind[i]);
  return y;
}

void check_delays(InputChecks& checks, const FlatTerms& terms, const GivenTimes& times,
                  std::span<const Array> y0, const SolveOptions& options) {
  if (terms.delays.slope == nullptr) return;
  const Array& delays = terms.delays.delays;
  if (delays.is_empty() || delays.ndim() > 1 || delays.size() == 0 || is_complex(delays.dtype()))
    fail(messages::delays_shape, {delays.is_empty() ? "empty" : to_string(delays.aval())}, checks.loc());
  if (options.controller.innermost().as<StepTo>()) fail(messages::delays_step_to, {}, checks.loc());
  if (options.max_steps < 0) fail(messages::delays_without_bound, {}, checks.loc());
  const auto look = [](std::span<const Array> v) {
    const Array least = min(v[0]);
    return Finding{where(least > 0 && all(isfinite(v[0])), 0, 1), {least}};
  };
  checks.refuse({delays}, look, [] { return std::vector{Text(messages::delay_range, {"{0}"})}; });
  const std::vector<Array> history = terms.delays.history(terms.context, astype(times.t0, times.dtype));
  for (std::size_t i = 0; i < y0.size(); ++i) {
    const bool there = i < history.size() && history.size() == y0.size();
    if (!there || history[i].shape() != y0[i].shape() ||
        promote({history[i].dtype(), history[i].weak()}, {times.dtype, false}).dtype != times.dtype)
      fail(messages::history_mismatch,
           {terms.state(i), to_string(y0[i].aval()), there ? to_string(history[i].aval()) : "missing"},
           checks.loc());
  }
}

SolveOptions with_breaks(const SolveOptions& options, const FlatTerms& terms, const SolverRef& solver,
                         const Array& t0, Dtype dtype, const Array& direction) {
  SolveOptions with = options;
  if (terms.delays.slope == nullptr) return with;
  const Array delays = delays_of(terms, dtype);
  // The history meets the solution at t0; n delays later a derivative n orders higher jumps.
  const auto times = multiples(static_cast<std::size_t>(delays.size()), solver.traits.order + 1);
  std::vector<double> flat;
  for (const auto& row : times) flat.insert(flat.end(), row.begin(), row.end());
  const Array passes =
      astype(array(flat, Shape{static_cast<std::int64_t>(times.size()), delays.size()}), dtype);
  const Array sums = sum(passes * delays, {.axis = 1});
  with.controller = ClipStepSizeController{.controller = options.controller,
                                           .jump_ts = astype(t0, dtype) + direction * sums};
  return with;
}

Array shortest_delay(const FlatTerms& terms, Dtype dtype) {
  return terms.delays.slope == nullptr ? Array() : min(delays_of(terms, dtype));
}

Array within_delay(const Problem& p, const Array& start, const Array& end) {
  if (p.shortest_delay.is_empty()) return end;
  const Array most = start + stop_gradient(p.shortest_delay);
  return where(end > most + rounding_at(most), most, end);
}

}  // namespace apsis::detail
