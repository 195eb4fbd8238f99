#include "apsis/diffeq/controller.hpp"
#include "apsis/diffeq/solve.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/select.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/norm.hpp"

namespace apsis {

FirstStep ConstantStepSize::first_step(const ControllerStart& s) const {
  if (!s.end.is_empty()) return {s.end, {s.state.begin(), s.state.end()}};
  if (s.dt0.is_empty()) fail(messages::no_first_step, {});
  return {s.t0 + s.dt0, {s.dt0}};
}

NextStep ConstantStepSize::next_step(const ControllerStep& s) const {
  Array code = where(detail::all_finite(s.y1), 0, static_cast<std::int64_t>(SolveResult::NonFinite));
  return {Array(true), s.t1, s.t1 + s.state[0], {s.state[0]}, code};
}

}  // namespace apsis
