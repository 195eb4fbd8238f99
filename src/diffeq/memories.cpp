// Solves that go on where another ended: what solver and controller kept is given out, and taken in again.

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/eval_shape.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {
namespace {

std::string text_of(std::span<const Array> arrays) {
  std::string text;
  for (const Array& a : arrays)
    text += (text.empty() ? "" : ", ") + (a.is_empty() ? std::string("empty") : to_string(a.aval()));
  return text.empty() ? "nothing" : text;
}

/// Refuses what is not like that which a solver or controller keeps; gives it their dtypes.
std::vector<Array> fitting(std::span<const Array> kept, std::span<const Array> like, const char* option,
                           const std::string& of, Loc loc) {
  bool fits = kept.size() == like.size();
  for (std::size_t i = 0; fits && i < kept.size(); ++i)
    fits = !kept[i].is_empty() && kept[i].shape() == like[i].shape() &&
           (kept[i].dtype() == like[i].dtype() || like[i].weak() || kept[i].weak());
  if (!fits) fail(messages::memory_mismatch, {option, text_of(kept), of, text_of(like)}, loc);
  std::vector<Array> out(kept.begin(), kept.end());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!like[i].weak() && out[i].dtype() != like[i].dtype()) out[i] = astype(out[i], like[i].dtype());
  return out;
}

}  // namespace

void check_memories(InputChecks& checks, const Slopes& slopes, const GivenTimes& times,
                    const SolveOptions& options) {
  const SolverMemory& solver = options.solver_state;
  const ControllerMemory& controller = options.controller_state;
  const bool goes_on = !solver.direction.is_empty();
  if (slopes.delayed())
    for (const auto& [given, name] :
         {std::pair(goes_on, "solver_state"), std::pair(times.goes_on, "controller_state"),
          std::pair(options.saveat.solver_state, "saveat.solver_state"),
          std::pair(options.saveat.controller_state, "saveat.controller_state")})
      if (given) fail(messages::memory_of_delays, {name}, checks.loc());
  if (times.goes_on && options.controller.innermost().as<StepTo>())
    fail(messages::memory_of_step_to, {}, checks.loc());
  if (times.goes_on && !times.dt0.is_empty()) fail(messages::memory_and_first_step, {}, checks.loc());
  const auto turned = [](std::span<const Array> v) {
    return Finding{where(v[1] != v[2] && (v[0] < 0) != (v[2] < v[1]), 1, 0), {}};
  };
  if (goes_on)
    checks.refuse({solver.direction, times.t0, times.t1}, turned,
                  [] { return std::vector{Text(messages::memory_turned, {"solver_state"})}; });
  if (times.goes_on)
    checks.refuse({controller.end - controller.t, times.t0, times.t1}, turned,
                  [] { return std::vector{Text(messages::memory_turned, {"controller_state"})}; });
}

std::vector<Array> solver_start_state(const Problem& p, const std::vector<Array>& slope, Loc loc) {
  const SolverMemory& given = p.options.solver_state;
  if (given.direction.is_empty()) return checked_init(p.solver, {p.slopes, p.t0, p.y0, slope});
  std::vector<Array> in{p.t0};
  in.insert(in.end(), p.y0.begin(), p.y0.end());
  in.insert(in.end(), slope.begin(), slope.end());
  const auto start = [&](std::span<const Array> v) {
    return checked_init(p.solver, {p.slopes, v[0], v.subspan(1, p.y0.size()), v.subspan(1 + p.y0.size())});
  };
  return fitting(given.own, eval_shape_call(callee_of(start), in), "solver_state", p.solver.traits.name, loc);
}

PathMemory path_start(const Problem& p, Loc loc) {
  PathMemory start = p.slopes.start_memory();
  const SolverMemory& given = p.options.solver_state;
  if (given.direction.is_empty()) return start;
  if (given.paths.size() != start.size())
    fail(messages::memory_of_paths, {std::to_string(given.paths.size()), std::to_string(start.size())}, loc);
  for (std::size_t i = 0; i < start.size(); ++i)
    start[i] = fitting(given.paths[i], start[i], "solver_state", "the path of the equation", loc);
  return start;
}

namespace {

/// Where the first step ends by the memory of a controller, forward; empty without one.
Array remembered_end(const Problem& p) {
  const ControllerMemory& given = p.options.controller_state;
  if (given.end.is_empty()) return {};
  const Array t = astype(given.t, p.t0.dtype()) * p.slopes.direction(),
              end = astype(given.end, p.t0.dtype()) * p.slopes.direction();
  return where(t == p.t0, end, p.t0 + (end - t));
}

}  // namespace

FirstStep first_step(const Problem& p, const ControllerStart& start, Loc loc) {
  const Array end = remembered_end(p);
  if (end.is_empty()) return p.options.controller.first_step(start);
  const Array whole = p.t1 - p.t0;
  const auto anew = [&](std::span<const Array>) {
    return p.options.controller
        .first_step({start.t0, start.t1, whole, start.y0, start.slope, start.order, start.slope_at,
                     start.context, start.direction})
        .state;
  };
  const std::vector<Array> kept =
      fitting(p.options.controller_state.own, eval_shape_call(callee_of(anew), std::vector<Array>{p.t0}),
              "controller_state", "the step size controller", loc);
  FirstStep first =
      p.options.controller.first_step({start.t0, start.t1, start.dt0, start.y0, start.slope, start.order,
                                       start.slope_at, start.context, start.direction, end, kept});
  first.end = where(first.end > p.clip_from, p.t1, first.end);
  return first;
}

void collect_memories(const Problem& p, const LoopState& end, FlatSolution& s) {
  const Array& direction = p.slopes.direction();
  if (p.options.saveat.solver_state) s.solver_state = {direction, end.solver, end.paths};
  if (p.options.saveat.controller_state)
    s.controller_state = {end.start * direction, end.proposed[0] * direction, end.controller};
}

}  // namespace apsis::detail
