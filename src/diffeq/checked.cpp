#include "diffeq/checked.hpp"

#include <algorithm>
#include <string>

#include "apsis/core/op.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "diffeq/messages.hpp"

namespace apsis::detail {
namespace {

std::string text_of(const Array& a) { return a.is_empty() ? "empty" : to_string(a.aval()); }
std::string count_of(std::size_t arrays) {
  return std::to_string(arrays) + (arrays == 1 ? " array" : " arrays");
}

/// What a member of the solver returned, part by part.
struct Returned {
  const SolverRef& solver;

  [[noreturn]] void refuse(const std::string& part, const std::string& got, const std::string& want,
                           const char* why) const {
    fail(messages::solver_part, {solver.traits.name, part, got, want, why});
  }
  /// Weak dtypes become those of the others.
  void is_like(const std::string& part, std::span<const Array> got, std::span<const Array> want,
               const char* why) const {
    if (got.size() != want.size()) refuse(part, count_of(got.size()), count_of(want.size()), why);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const bool dtype_fits =
          !got[i].is_empty() && (got[i].dtype() == want[i].dtype() || got[i].weak() || want[i].weak());
      if (!dtype_fits || got[i].shape() != want[i].shape())
        refuse(part + ", array " + std::to_string(i) + ",", text_of(got[i]), text_of(want[i]), why);
    }
  }
  /// What a step costs, where the solver does not tell by how often it asked for the slope.
  StepWork work(const StepWork& told, std::int64_t asked) const {
    const auto number = [&](const Array& n, const char* name, std::int64_t otherwise) {
      if (n.is_empty()) return array(otherwise);
      const std::string part = std::string("work.") + name + " of step()";
      if (n.ndim() != 0 || !is_integer(n.dtype()))
        refuse(part, text_of(n), "i64[]", "it says how often that was done");
      if (solver.traits.varying_work) return astype(n, Dtype::I64);
      const Array known = concrete_value(n);
      if (known.is_empty())
        refuse(part, "a value of the program", "a number",
               "varying_work of traits() says that it is the same for each step");
      return array(known.item<std::int64_t>());
    };
    return {number(told.evaluations, "evaluations", asked), number(told.jacobians, "jacobians", 0),
            number(told.factorisations, "factorisations", 0)};
  }
};

}  // namespace

std::vector<Array> checked_init(const SolverRef& solver, const SolverStart& start) {
  const Returned returned{solver};
  const StepTraits& traits = solver.traits;
  if (traits.order < 1)
    returned.refuse("order of traits()", std::to_string(traits.order), "1 or more",
                    "it is that of the method");
  if (traits.error_order < 0)
    returned.refuse("error_order of traits()", std::to_string(traits.error_order), "0 or more",
                    "it is the order of the solution whose error is estimated, 0 without an estimate");
  std::vector<Array> own = solver.init(solver.self, start);
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i].is_empty())
      returned.refuse("init(), array " + std::to_string(i) + ",", "empty", "there",
                      "what is not carried from step to step is left out");
  if (traits.keeps_slope)
    returned.is_like("init()", std::span(own).first(std::min(own.size(), start.y0.size())), start.y0,
                     "keeps_slope of traits() says that it begins with the slope");
  return own;
}

SolverAttempt checked_step(const SolverRef& solver, const SolverStep& step) {
  const Returned returned{solver};
  std::int64_t asked = 0;
  const Slopes slopes = step.slopes.counting(asked);
  SolverAttempt attempt =
      solver.step(solver.self, {slopes, step.t0, step.t1, step.y0, step.state, step.tolerances});
  attempt.work = returned.work(attempt.work, asked);
  returned.is_like("y1 of step()", attempt.y1, step.y0, "it is the state at t1");
  returned.is_like("state of step()", attempt.state, step.state, "it replaces what init() returned");
  returned.is_like("error of step()", attempt.error,
                   solver.traits.error_order > 0 ? step.y0 : std::span<const Array>(),
                   solver.traits.error_order > 0 ? "error_order of traits() says that there is an estimate"
                                                 : "error_order of traits() says that there is no estimate");
  if (!attempt.failed.is_empty() && (attempt.failed.ndim() != 0 || attempt.failed.dtype() != Dtype::Bool))
    returned.refuse("failed of step()", text_of(attempt.failed), "bool[]", "it says whether there is no y1");
  return attempt;
}

std::vector<Array> checked_interpolation(const SolverRef& solver, const DenseStep& step) {
  std::vector<Array> y = solver.interpolate(solver.self, step);
  Returned{solver}.is_like("evaluate() of interpolation()", y, step.y0, "it is the state within the step");
  return y;
}

}  // namespace apsis::detail
