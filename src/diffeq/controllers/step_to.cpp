#include "apsis/diffeq/controller.hpp"
#include "apsis/diffeq/solve.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/select.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/norm.hpp"

namespace apsis {
namespace {

/// The end of the step that starts at ts[i]. The last one ends at t1 itself, so that derivatives with respect
/// to t1 count.
Array step_end(const Array& forward_ts, const Array& i, const Array& t1) {
  return where(i + 1 >= forward_ts.size() - 1, t1, forward_ts[i + 1]);
}

}  // namespace

FirstStep StepTo::first_step(const ControllerStart& s) const {
  if (!s.dt0.is_empty()) fail(messages::first_step_given, {});
  if (ts.is_empty() || ts.ndim() != 1 || ts.size() < 2)
    fail(messages::step_to_times, {ts.is_empty() ? "nothing" : to_string(ts.aval())});
  // Times run forwards inside the solve.
  Array forward = where(ts[-1] < ts[0], -ts, ts);
  forward = astype(forward, s.t0.dtype());
  return {step_end(forward, 0, s.t1), {array(std::int64_t{0}), forward}};
}

NextStep StepTo::next_step(const ControllerStep& s) const {
  Array i = s.state[0] + 1;
  Array code = where(detail::all_finite(s.y1), 0, static_cast<std::int64_t>(SolveResult::NonFinite));
  return {Array(true), s.t1, step_end(s.state[1], i, s.end), {i, s.state[1]}, code};
}

}  // namespace apsis
