// What a solve that failed says: where it was, how far off the tolerances, which part of the state was the
// fastest, and what to change of the options that are in use.

#include <algorithm>
#include <limits>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/select.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {
namespace {

/// The values that texts name: {0} to {3}, then the speed of each leaf.
enum Value : std::size_t { At, T1, NextStep, Error, Speeds };

/// How fast each element changes: its slope relative to its tolerance, or to its own size where there is
/// none; not finite where the state or the slope is not. Of few ops, as every program that solves has them.
Array speed(const Problem& p, std::size_t leaf, const Array& y, const Array& slope) {
  const auto* pid = p.options.controller.innermost().as<PIDController>();
  const double smallest = y.dtype() == Dtype::F64 ? std::numeric_limits<double>::min() : 0x1p-126;
  Array size = pid ? pid->rtol.of(leaf) * abs(y) + (pid->atol.of(leaf) + smallest) : abs(y) + smallest;
  return (slope + 0. * y) / size;
}

/// A leaf's name as part of a mark, which ends at a brace.
std::string in_mark(std::string name) {
  std::ranges::replace(name, '}', ')');
  std::ranges::replace(name, ';', ',');
  return name;
}

struct Advice {
  const char *max_steps, *non_finite, *too_short, *diverged;
};

/// What can be changed of a solve in this controller's hands.
Advice advice(const Problem& p) {
  const Controller& c = p.options.controller.innermost();
  if (const auto* pid = c.as<PIDController>()) {
    const bool forced = !pid->dtmin.is_empty() && pid->force_dtmin;
    return {
        "raise max_steps, loosen rtol and atol, or shorten the interval; where the solution is smooth, and "
        "still the "
        "steps are short, the problem is stiff: solvers such as Rodas5P are for these",
        forced ? "lower dtmin: at dtmin steps are accepted whatever their error"
               : "the solution may have a singularity there",
        pid->dtmin.is_empty() || forced
            ? "the solution may have a singularity there, the vector field may not be finite beyond it, or "
              "rtol and "
              "atol ask for more than rounding allows"
            : "lower dtmin, loosen rtol and atol, or let steps of dtmin be accepted by force_dtmin",
        "lower dtmin"};
  }
  if (c.as<StepTo>())
    return {"raise max_steps to the number of steps of StepTo",
            "give StepTo more times there, or use an adaptive controller, "
            "which finds them: PIDController{.rtol = 1e-6, .atol = 1e-9}",
            "give StepTo times that are further apart", "give StepTo more times there"};
  if (c.as<ConstantStepSize>())
    return {
        "raise max_steps, or make dt0 longer",
        p.slopes.driven()                  ? "make dt0 shorter"
        : p.solver.traits.error_order == 0 ? "make dt0 shorter, or let an adaptive controller do so: "
                                             "PIDController{.rtol = 1e-6, .atol = 1e-9}, with a "
                                             "solver that estimates its error, such as Tsit5"
                                           : "make dt0 shorter, or let an adaptive controller do so: "
                                             "PIDController{.rtol = 1e-6, .atol = 1e-9}",
        "make dt0 longer",
        "make dt0 shorter, or let an adaptive controller do so: PIDController{.rtol = 1e-6, .atol = 1e-9}"};
  return {"raise max_steps, or shorten the interval", "take shorter steps there",
          "the controller must give steps that end behind where they start", "take shorter steps there"};
}

}  // namespace

void raise_failure(const Problem& p, const LoopState& end, std::span<const Array> first_slope,
                   const Array& code, Loc loc) {
  if (const Array known = concrete_value(code);
      !known.is_empty() && known.size() == 1 && known.item<std::int64_t>() == 0)
    return;
  const bool adaptive = !end.error_square.empty();
  // Without an error estimate the slope only matters where it is not finite at t0.
  std::vector<Array> y = end.y, slope;
  if (p.solver.traits.keeps_slope && !p.slopes.driven())
    slope.assign(end.solver.begin(), end.solver.begin() + static_cast<std::ptrdiff_t>(y.size()));
  for (Array& a : y) a = stop_gradient(a);
  if (slope.empty() && adaptive)
    slope = p.slopes(stop_gradient(end.start), y);
  else if (slope.empty())
    slope.assign(first_slope.begin(), first_slope.end());

  std::vector<Array> values{end.start * p.slopes.direction(), p.t1 * p.slopes.direction(),
                            end.end - end.start, adaptive ? sqrt(end.error_square[0]) : Array(0.)};
  std::string names;
  for (std::size_t i = 0; i < y.size(); ++i) {
    values.push_back(speed(p, i, y[i], stop_gradient(slope[i])));
    names += (i == 0 ? "" : ";") + in_mark(p.slopes.name(i));
  }
  const std::string part = "{" + std::to_string(Speeds) + ":" + names + "}";

  const std::string bound = std::to_string(attempts_allowed(p.options));
  const std::string allowed = p.options.max_steps < 0 ? "without max_steps " + bound : "max_steps = " + bound;
  const std::string error = adaptive ? ", the error of the last attempt was {3} times its tolerance" : "";
  const std::string fast = adaptive ? ", and " + part + " changes fastest for its tolerance" : "";
  const Advice a = advice(p);
  std::vector<Text> texts{
      {messages::max_steps_reached, {allowed, "{0}", "{1}", "{2}", error, fast, a.max_steps}},
      {messages::non_finite_start, {"{0}", part}},
      {messages::non_finite, {"{0}", part, a.non_finite}},
      {messages::dt_min_reached, {"{0}", "{2}", error, fast, a.too_short}}};
  if (p.solver.traits.implicit)
    texts.emplace_back(messages::nonlinear_divergence,
                       std::initializer_list<std::string>{"{0}", p.solver.traits.name, "{2}", a.diverged});
  else if (p.solver.traits.may_fail)
    texts.emplace_back(messages::step_without_result,
                       std::initializer_list<std::string>{"{0}", p.solver.traits.name, "{2}", a.diverged});
  const std::int64_t inconsistent = std::ssize(texts) + 1;
  if (!p.inconsistent.is_empty())
    texts.emplace_back(messages::inconsistent_start, std::initializer_list<std::string>{"{0}"});
  const auto* clip = p.options.controller.as<ClipStepSizeController>();
  const std::int64_t rejected = std::ssize(texts) + 1;
  const bool remembers = clip != nullptr && clip->store_rejected_steps > 0;
  if (remembers)
    texts.emplace_back(messages::max_steps_rejected,
                       std::initializer_list<std::string>{"{0}", std::to_string(clip->store_rejected_steps)});
  const bool changes = end.events && !end.events->last_change.empty();
  const std::int64_t accumulates = std::ssize(texts) + 1;
  if (changes) texts.emplace_back(messages::event_accumulates, std::initializer_list<std::string>{"{0}"});
  // Chosen among literals, and only where there is a failure: then all that a success looks at is the code.
  const auto is = [&](SolveResult r) { return code == static_cast<std::int64_t>(r); };
  Array which = where(is(SolveResult::MaxStepsReached), 1,
                      where(is(SolveResult::DtMinReached), 4, where(end.attempts == 0, 2, 3)));
  if (p.solver.traits.implicit || p.solver.traits.may_fail)
    which = where(is(SolveResult::NonlinearDivergence), 5, which);
  if (!p.inconsistent.is_empty())
    which = where(is(SolveResult::NonlinearDivergence) && end.attempts == 0, inconsistent, which);
  if (remembers) which = where(is(SolveResult::MaxStepsRejected), rejected, which);
  if (changes)
    which = where(is(SolveResult::DtMinReached) && end.start <= end.events->last_change[0] &&
                      end.events->at_once[0] > 0,
                  accumulates, which);
  if (end.events) which = where(is(SolveResult::EventOccurred), 0, which);
  raise(where(code != 0, which, 0), texts, values, loc);
}

}  // namespace apsis::detail
