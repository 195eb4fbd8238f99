// The loop around any solver, the best point it sees, how it fails, and where derivatives come from.

#include "apsis/control/error_if.hpp"
#include "apsis/control/implicit.hpp"
#include "apsis/transform/vmap.hpp"
#include "solve/problem.hpp"

namespace apsis::detail {
namespace {

struct Run {
  Iterate now;
  Array steps, best, best_measure;
};
/// What is known when the loop has ended.
struct Info {
  Array result, measure, steps, evaluations, derivatives;
};

/// What a solver gives, in the dtypes that the loop carries.
Iterate carried(const NonlinearProblem& problem, const char* solver, Iterate it) {
  const auto require = [&](bool fits, const char* part, const Array& found, const char* wanted) {
    if (!fits)
      fail(messages::solver_iterate,
           {solver, part, found.is_empty() ? "empty" : to_string(found.aval()), wanted}, problem.loc());
  };
  require(!it.y.is_empty() && it.y.ndim() == 1, "y", it.y, "a vector like the start");
  for (const auto& [part, scalar] :
       {std::pair{"measure", &it.measure}, std::pair{"done", &it.done}, std::pair{"code", &it.code},
        std::pair{"evaluations", &it.evaluations}, std::pair{"derivatives", &it.derivatives}})
    require(!scalar->is_empty() && scalar->ndim() == 0, part, *scalar, "a scalar");
  it.y = astype(it.y, problem.dtype());
  it.measure = astype(it.measure, problem.dtype());
  for (Array* count : {&it.code, &it.evaluations, &it.derivatives}) *count = astype(*count, i64);
  return it;
}

std::pair<Array, Info> iterate(const NonlinearProblem& problem, const ErasedSolver& solver,
                               std::int64_t max_steps, const Array& start) {
  auto better = [](const Array& measure, const Array& than) { return measure < than || isnan(than); };
  Iterate first =
      carried(problem, solver.traits.name, solver.start(solver.solver, problem, problem.project(start)));
  if (problem.bounded()) {
    const Array ordered = all(problem.lower() <= problem.upper());
    first.done = first.done && ordered;
    first.code = where(ordered, first.code, code_of(NonlinearResult::Refused));
  }
  Run end = while_loop([&](const Run& r) { return !r.now.done && r.now.code == 0 && r.steps < max_steps; },
                       [&](const Run& r) {
                         const Iterate next =
                             carried(problem, solver.traits.name, solver.step(solver.solver, problem, r.now));
                         const Array improves = better(next.measure, r.best_measure);
                         return Run{next, r.steps + 1, where(improves, next.y, r.best),
                                    where(improves, next.measure, r.best_measure)};
                       },
                       Run{first, count_of(0), first.y, first.measure}, {}, problem.loc());
  const Array open = where(end.now.code == 0, code_of(NonlinearResult::MaxStepsReached), end.now.code);
  const Array result = where(end.now.done, std::int64_t{0}, open);
  const Array solved = result == 0;
  return {where(solved, end.now.y, end.best), Info{result, where(solved, end.now.measure, end.best_measure),
                                                   end.steps, end.now.evaluations, end.now.derivatives}};
}

/// The equation that a solution solves.
Array equation(const NonlinearProblem& problem, SolvesFor kind, const Array& y) {
  if (kind == SolvesFor::Root || kind == SolvesFor::FixedPoint) return problem.residual(y);
  const Array gradient = problem.loss_and_gradient(y).second;
  if (!problem.bounded()) return gradient;
  // What a bound holds moves with the bound.
  const Array bound = where(y <= problem.lower(), problem.lower(), problem.upper());
  return where(problem.active(y, gradient), y - bound, gradient);
}

/// Throws, when the program runs, if the solve has failed. The marks {0} and {1} that are left in the texts
/// stand for the measure and the steps.
void raise(const ProblemParts& parts, const NonlinearOptions& options, const Info& info) {
  const char* measured = parts.call.kind == SolvesFor::Minimum        ? "the loss"
                         : parts.call.kind == SolvesFor::LeastSquares ? "half the sum of squares"
                         : parts.call.kind == SolvesFor::Root         ? "the largest |f|"
                                                                      : "the largest |f(y) - y|";
  const std::pair<NonlinearResult, const Message*> ends[] = {
      {NonlinearResult::MaxStepsReached, &messages::failed_max_steps},
      {NonlinearResult::Singular, &messages::failed_singular},
      {NonlinearResult::LineSearchFailed, &messages::failed_line_search},
      {NonlinearResult::NonFinite, &messages::failed_non_finite},
      {NonlinearResult::Refused, &messages::failed_refused}};
  std::vector<std::string> texts;
  Array code = count_of(0);
  for (const auto& [result, message] : ends) {
    texts.push_back(filled_text(*message, {parts.call.name, parts.solver.name,
                                           std::to_string(options.max_steps), measured, "{0}", "{1}"}));
    code = where(info.result == static_cast<std::int64_t>(result), static_cast<std::int64_t>(texts.size()),
                 code);
  }
  std::vector<Message> list;
  for (std::size_t i = 0; i < texts.size(); ++i) list.push_back({ends[i].second->id, texts[i].c_str()});
  const Array values[] = {info.measure, info.steps};
  error_if_code(code, list, values, parts.loc);
}

}  // namespace

FlatSolved solve_nonlinear(const NonlinearCall& call, const Callee& f, std::span<const Array> start,
                           const ErasedSolver& solver, const NonlinearOptions& options, Loc loc) {
  const LocScope place(loc);
  if (options.max_steps < 0)
    fail(messages::solve_max_steps, {call.name, std::to_string(options.max_steps)}, loc);
  if (!(call.f_scale > 0 && call.f_scale <= largest_option))
    fail(messages::solver_option, {call.name, "f_scale", to_text(call.f_scale), "above 0 and finite"}, loc);
  ProblemParts parts{call, f, LeafLayout(call.name, start, f.inputs, loc), solver.traits, {}, {}, loc};
  const bool bounds = options.lower.is_given() || options.upper.is_given();
  const char* method = solver.traits.name;
  if (solver.traits.bounds == BoundsUse::None && bounds)
    fail(messages::bounds_unknown, {call.name, method}, loc);
  if (solver.traits.bounds == BoundsUse::Bracket) {
    if (!options.lower.is_given() || !options.upper.is_given())
      fail(messages::bracket_missing, {call.name, method}, loc);
    if (parts.layout.size() != 1)
      fail(messages::bracket_scalar, {call.name, method, std::to_string(parts.layout.size())}, loc);
  }
  if (bounds) {
    parts.lower = bound_vector(call.name, "lower", options.lower, parts.layout, f.inputs, -no_limit, loc);
    parts.upper = bound_vector(call.name, "upper", options.upper, parts.layout, f.inputs, no_limit, loc);
  }
  const NonlinearProblem problem(parts);
  const Array first = parts.layout.pack(start);
  auto run = [&](const Array& y) { return iterate(problem, solver, options.max_steps, y); };
  auto [y, info] = options.adjoint == SolveAdjoint::Unrolled
                       ? run(first)
                       : custom_root([&](const Array& at) { return equation(problem, call.kind, at); }, first,
                                     [&](const auto&, const Array& at) { return run(at); },
                                     [&](const auto& slope, const Array& right) {
                                       const Array rows = vmap([&](const Array& e) { return slope(e); })(
                                           eye(right.size(), -1, 0, right.dtype()));
                                       return linalg::solve(transpose(rows), right);
                                     },
                                     loc);
  if (options.throw_) raise(parts, options, info);
  const bool is_loss = call.kind == SolvesFor::Minimum || call.kind == SolvesFor::LeastSquares;
  const Array objective = is_loss ? problem.loss(y) : largest(problem.residual(y));
  return {parts.layout.unpack(y), objective, info.result, {info.steps, info.evaluations, info.derivatives}};
}

}  // namespace apsis::detail
