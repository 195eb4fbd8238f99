#include <cmath>

#include "apsis/array/dtype.hpp"
#include "apsis/diffeq/controller.hpp"
#include "apsis/diffeq/solve.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/norm.hpp"

namespace apsis {
namespace {

/// Known now to be zero, so that what it multiplies need not be kept.
bool is_zero(const Array& a) { return a.is_empty() || (is_concrete(a) && a.item<double>() == 0); }

Tolerances tolerances_of(const PIDController& c) { return {c.rtol, c.atol, c.norm}; }

/// How large values are, relative to what errors of this state may be.
Array scaled_size(std::span<const Array> values, std::span<const Array> y, const PIDController& c) {
  std::vector<Array> scaled;
  for (std::size_t i = 0; i < values.size(); ++i)
    scaled.push_back(values[i] / (c.atol.of(i) + c.rtol.of(i) * abs(y[i])));
  return sqrt(detail::error_square(tolerances_of(c), scaled));
}

/// The first step by Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, II.4: an explicit
/// Euler step of a hundredth of the state's own scale tells the second derivative, and that the step.
Array starting_step(const ControllerStart& s, const PIDController& c) {
  Array d0 = scaled_size(s.y0, s.y0, c), d1 = scaled_size(s.slope, s.y0, c);
  Array small = d0 < 1e-5 || d1 < 1e-5 || !isfinite(d1);
  Array h0 = where(small, 1e-6, 0.01 * (d0 / where(small, 1., d1)));
  std::vector<Array> y1, change;
  for (std::size_t i = 0; i < s.y0.size(); ++i) y1.push_back(s.y0[i] + h0 * s.slope[i]);
  std::vector<Array> slope1 = s.slope_at(s.context, s.t0 + h0, y1);
  for (std::size_t i = 0; i < y1.size(); ++i) change.push_back(slope1[i] - s.slope[i]);
  Array d2 = scaled_size(change, s.y0, c) / h0;
  Array d = maximum(d1, d2);
  Array still = d <= 1e-15;
  Array h1 = where(still, maximum(1e-6, h0 * 1e-3), pow(0.01 / where(still, 1., d), 1. / s.order));
  Array h = minimum(100 * h0, h1);
  // Where the slope a little later is not finite, the Euler step is all there is; where its change is beyond
  // all numbers, too. A step that t0 is too large for would be none.
  h = where(h > 0 && isfinite(h), h, h0);
  return maximum(h, 10 * finfo(s.t0.dtype()).eps * abs(s.t0));
}

/// x^p for x ≥ 0 and p ≠ 0, without the care for the last bit and the special cases that `pow` takes: the
/// length of a step is no result, and the next step waits for it.
Array power(const Array& x, const Array& p) { return exp(p * log(x)); }

Array limited(Array dt, const PIDController& c) {
  if (!c.dtmax.is_empty()) dt = minimum(dt, c.dtmax);
  if (!c.dtmin.is_empty()) dt = maximum(dt, c.dtmin);
  return dt;
}

}  // namespace

FirstStep PIDController::first_step(const ControllerStart& s) const {
  if (rtol.is_empty() || atol.is_empty()) fail(messages::missing_tolerance, {});
  if (!s.end.is_empty()) return {s.end, {s.state.begin(), s.state.end()}, true};
  Array dt = limited(s.dt0.is_empty() ? stop_gradient(starting_step(s, *this)) : s.dt0, *this);
  std::vector<Array> state;
  Array one = s.t0 * 0 + 1;
  if (!is_zero(pcoeff) || !is_zero(dcoeff)) state.push_back(stop_gradient(one));
  if (!is_zero(dcoeff)) state.push_back(stop_gradient(one));
  return {s.t0 + dt, state, true};
}

NextStep PIDController::next_step(const ControllerStep& s) const {
  if (s.error.empty()) fail(messages::no_error_estimate, {});
  // Step sizes count as constants: the whole decision is made on values without derivatives. All that does
  // not wait for the error estimate is written so that it need not: the next step cannot start before this is
  // done.
  std::vector<Array> ratio;
  for (std::size_t i = 0; i < s.error.size(); ++i) {
    Array before = abs(stop_gradient(s.y0[i])), after = abs(stop_gradient(s.y1[i]));
    Array size = where(before < after, after, before);
    ratio.push_back(stop_gradient(s.error[i]) *
                    (1. / (stop_gradient(atol.of(i)) + stop_gradient(rtol.of(i)) * size)));
  }
  // r², so that neither the decision nor the next step wait for a square root.
  Array r2 = stop_gradient(detail::error_square(tolerances_of(*this), ratio));

  bool history = !is_zero(pcoeff) || !is_zero(dcoeff), history2 = !is_zero(dcoeff);
  Array accept = r2 < 1;  // not where it is NaN
  const bool has_min = !dtmin.is_empty();
  // A difference of times is rounded once more: whether a step is no longer than dtmin, its end tells.
  Array low, at_min;
  if (has_min) {
    low = stop_gradient(dtmin);
    at_min = stop_gradient(s.t1) <= stop_gradient(s.t0) + low;
    if (force_dtmin) accept = accept || at_min;
  }

  double k = s.order;
  Array beta1 = (stop_gradient(pcoeff) + stop_gradient(icoeff) + stop_gradient(dcoeff)) / k;
  Array scale = stop_gradient(safety);
  if (history) scale = scale * pow(s.state[0], -(stop_gradient(pcoeff) + 2 * stop_gradient(dcoeff)) / k);
  if (history2) scale = scale * pow(s.state[1], stop_gradient(dcoeff) / k);
  Array factor = scale * power(r2, -0.5 * beta1);
  // By selections, which take NaN to the lower limit.
  auto limit = [&](const Array& a) { return astype(stop_gradient(a), r2.dtype()); };
  Array lowest = where(accept, limit(1.), limit(factormin));
  Array highest = where(accept, limit(factormax), limit(safety));
  factor = where(factor > lowest, factor, lowest);
  factor = where(factor < highest, factor, highest);
  Array dt = factor * stop_gradient(s.t1 - s.t0);
  if (!dtmax.is_empty()) dt = minimum(dt, stop_gradient(dtmax));

  Array start = where(accept, s.t1, s.t0);
  Array code = 0;
  std::vector<Array> state;
  if (history) {
    Array inverse = 1 / sqrt(r2);
    Array kept = where(inverse > 0 && isfinite(inverse), inverse, 1.);
    state.push_back(where(accept, kept, s.state[0]));
    if (history2) state.push_back(where(accept, s.state[0], s.state[1]));
  }
  if (has_min) {
    dt = where(at_min && factor == 1, low, dt);
    if (!force_dtmin) code = where(dt < low, static_cast<std::int64_t>(SolveResult::DtMinReached), 0);
    // What is accepted without regard to its error may be anything.
    constexpr auto non_finite = static_cast<std::int64_t>(SolveResult::NonFinite);
    if (force_dtmin) code = where(accept && !detail::all_finite(s.y1), non_finite, 0);
    dt = maximum(dt, low);
  }
  return {accept, start, start + dt, state, code, r2};
}

}  // namespace apsis
