// The solve: promote, start, loop over steps, save, report. Written on the public API alone.

#include <limits>

#include "apsis/control/cond.hpp"
#include "apsis/control/progress.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/core/op.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/forbid.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/math.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/checks.hpp"
#include "diffeq/constant.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/newton.hpp"
#include "diffeq/norm.hpp"
#include "diffeq/past.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t code_of(SolveResult r) { return static_cast<std::int64_t>(r); }

/// 1, or -1 for a solve that goes back; a literal of the program where that is known. A dt0 that leads
/// elsewhere was refused.
Array direction_of(const GivenTimes& times) {
  const auto back = [](std::span<const Array> v) { return v[1] < v[0]; };
  const int by_step = known_direction(times);
  const Array goes_back = value_or_later({times.t0, times.t1}, back);
  if (is_concrete(goes_back)) return goes_back.item<bool>() ? -1. : 1.;
  if (by_step != 0) return static_cast<double>(by_step);
  return astype(where(goes_back, -1., 1.), times.dtype);
}

/// Forward save times with what lies beyond t0 or t1 by rounding moved there.
Array within(const Array& ts, const Array& given_ts, const GivenTimes& given, const Problem& p) {
  const auto beyond = [](std::span<const Array> v) {
    return any(v[0] < minimum(v[1], v[2]) || v[0] > maximum(v[1], v[2]));
  };
  const Array some = value_or_later({given_ts, given.t0, given.t1}, beyond);
  if (is_concrete(some) && !some.item<bool>()) return ts;
  return where(ts > p.t1, p.t1, where(ts < p.t0, p.t0, ts));
}

/// The solver as at its start, behind a discontinuity.
void start_anew(const Problem& p, const Array& jump, const LoopState& s, LoopState& next) {
  if (next.solver.empty()) return;
  if (p.past != nullptr) {
    LoopState behind = s;
    behind.start = next.start;
    p.past->look(behind, Array());
  }
  next.solver = cond(
      jump,
      [&](const std::vector<Array>&) {
        return checked_init(p.solver, {p.slopes, next.start, next.y, p.slopes.rate(next.start, next.y)});
      },
      [](const std::vector<Array>& kept) { return kept; }, next.solver);
  if (p.past != nullptr) p.past->look(s, s.end);
}

LoopState attempt(Problem& p, const LoopState& s, Loc loc) {
  PathMemory paths = s.paths;
  const Slopes slopes = p.slopes.remembering(paths);
  if (p.past != nullptr) p.past->look(s, s.end);
  SolverAttempt step = checked_step(p.solver, {slopes, s.start, s.end, s.y, s.solver, p.tolerances});
  const bool may_fail = !step.failed.is_empty();
  // What has no result is no better than one that is infinitely far off.
  for (Array& error : step.error)
    if (may_fail)
      error = where(step.failed, full_like(error, std::numeric_limits<double>::infinity()), error);
  NextStep decision = p.options.controller.next_step(
      {s.start, s.end, p.t1, s.y, step.y1, step.error, p.error_order, s.controller});
  Array stuck;  // a step that failed, and that the controller would have taken
  if (may_fail) {
    stuck = decision.accept && step.failed;
    decision.accept = decision.accept && !step.failed;
    decision.start = where(stuck, s.start, decision.start);
    decision.end = where(stuck, s.end, decision.end);
    decision.code = where(stuck, code_of(SolveResult::NonlinearDivergence), decision.code);
  }
  const Array& accept = decision.accept;

  LoopState next = s;
  for (std::size_t i = 0; i < s.y.size(); ++i) next.y[i] = where(accept, step.y1[i], s.y[i]);
  for (std::size_t i = 0; i < s.solver.size(); ++i)
    next.solver[i] = where(accept, step.state[i], s.solver[i]);
  next.controller = decision.state;
  next.paths = paths;
  next.attempts = s.attempts + 1;
  next.accepted = s.accepted + where(accept, 1, 0);
  count_work(p, step.work, next);
  next.start = decision.start;
  for (Array& end : next.proposed) end = decision.end;
  if (!decision.jump.is_empty()) start_anew(p, accept && decision.jump, s, next);
  // A step that would end within some ULPs of t1, or beyond, ends there; but not where one was rejected that
  // may have ended there: it would be the same once more.
  next.end = within_delay(p, next.start, where(accept && decision.end > p.clip_from, p.t1, decision.end));
  // Each attempt comes nearer to t1, or is shorter than the one before it from the same start. Otherwise it
  // would be made again and again.
  Array nearer = next.start < next.end && (accept || next.end < s.end);
  Array going_on = where(decision.code == 0 && !nearer, code_of(SolveResult::DtMinReached), decision.code);
  // The end is reached: what the controller says of further steps does not matter.
  Array arrived = where(decision.code == code_of(SolveResult::NonFinite), decision.code, 0);
  next.code = where(next.start < p.t1, going_on, arrived);
  for (Array& error : next.error_square) error = decision.error_square;
  const Reached reached = pass_events(p, s, step, decision, next);
  if (p.options.progress.on())
    report_progress(p.options.progress, next.attempts, (next.start - p.t0) / (p.t1 - p.t0), loc);
  save_attempt(p, s, step, accept, reached, next);
  if (s.dense) keep_attempt(s, step, accept, reached, next);
  // The end of the next accepted step, where the attempt after this one takes its place if it is rejected.
  for (Array& ends : next.trail) ends = ends.at(next.accepted + where(accept, 0, 1)).set(s.end);
  return next;
}

LoopState start_state(Problem& p, const std::vector<Array>& slope, Loc loc) {
  auto signed_slope_at = [](const void* context, const Array& t, std::span<const Array> y) {
    const Slopes& slopes = *static_cast<const Slopes*>(context);
    std::vector<Array> k = slopes.rate(t, y);
    for (Array& a : k) a = a * slopes.direction();
    return k;
  };
  std::vector<Array> forward_slope;
  for (const Array& k : slope) forward_slope.push_back(k * p.slopes.direction());
  const FirstStep first = first_step(p,
                                     {p.t0, p.t1, p.dt0, p.y0, forward_slope, p.error_order, signed_slope_at,
                                      &p.slopes, p.slopes.direction()},
                                     loc);
  LoopState s;
  s.start = p.t0;
  s.end = within_delay(p, p.t0, minimum(first.end, p.t1));
  s.y = p.y0;
  s.solver = solver_start_state(p, slope, loc);
  s.controller = first.state;
  s.paths = path_start(p, loc);
  if (p.options.saveat.controller_state) s.proposed.push_back(first.end);
  s.attempts = s.accepted = array(std::int64_t{0});
  if (p.solver.traits.varying_work) s.work.assign(3, s.attempts);
  Array finite = value_or_later(p.y0, all_finite);
  finite = is_concrete(finite) && finite.item<bool>() ? all_finite(slope) : all_finite(slope) && finite;
  s.code = where(finite, 0, code_of(SolveResult::NonFinite));
  if (!p.inconsistent.is_empty())
    s.code = where(p.inconsistent, code_of(SolveResult::NonlinearDivergence), s.code);
  if (!p.refused.is_empty()) s.code = where(p.refused, code_of(SolveResult::Refused), s.code);
  if (first.tells_error) s.error_square.push_back(astype(array(0.), p.t0.dtype()));
  start_saving(p, s);
  if (p.options.saveat.dense || p.past != nullptr) start_dense(p, s);
  start_trail(p, s);
  start_events(p, s, loc);
  return s;
}

/// Has the solve know of its mass matrix, and begin with a state that fulfils the algebraic equations.
void take_mass(Problem& p, Loc loc) {
  p.mass = mass_of(p.options.mass, p.solver, p.y0, loc);
  p.slopes = p.slopes.with_mass(p.mass->matrix, p.mass->pseudoinverse);
  first_slope(p.slopes, p.t0, p.y0, loc);  // tells of fields that do not fit, before their results are used
  if (!p.options.solver_state.direction.is_empty()) return;  // the solve before kept to them
  auto [y0, found] = consistent_state(*p.mass, p.slopes, p.tolerances, p.t0, p.y0);
  p.y0 = std::move(y0);
  if (!found.is_empty()) p.inconsistent = !found;
}

/// The state at the end, with the derivative of the equation f(t1, y) = 0.
std::vector<Array> steady_state(const Problem& p, const LoopState& end) {
  const Layout layout(end.y);
  const VectorSlope slope(p.slopes, layout);
  const auto as_it_is = [](const auto&, const Array& x) { return x; };
  const Array t = stop_gradient(end.start), y = stop_gradient(layout.join(end.y));
  const MatrixForm form(p.slopes, slope, layout, t, y);
  const auto by_columns = [&](const auto& map, const Array& right) {
    return solve_by_columns(map, right, form.structure());
  };
  return layout.split(custom_root([&](const Array& x) { return slope(t, x); }, y, as_it_is, by_columns));
}

}  // namespace

}  // namespace apsis::detail

namespace apsis {

Array is_successful(const Array& result, Loc loc) {
  const LocScope place(loc);
  return result == static_cast<std::int64_t>(SolveResult::Successful);
}
Array is_event(const Array& result, Loc loc) {
  const LocScope place(loc);
  return result == static_cast<std::int64_t>(SolveResult::EventOccurred);
}
Array is_okay(const Array& result, Loc loc) { return is_successful(result, loc) || is_event(result, loc); }

}  // namespace apsis

namespace apsis::detail {

Dtype common_dtype(std::span<const Array> times, std::span<const Array> y0) {
  WeakDtype common{Dtype::F64, true};
  for (const Array& t : times)
    if (!t.is_empty()) common = promote(common, {t.dtype(), t.weak()});
  for (const Array& y : y0) common = promote(common, {y.dtype(), y.weak()});
  return common.dtype;
}

std::vector<Array> first_slope(const Slopes& slopes, const Array& t0, std::span<const Array> y0, Loc loc) {
  const auto check = [&](const std::vector<Array>& slope, std::size_t begin, std::span<const Array> y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      std::string got = i < slope.size() ? to_string(slope[i].aval()) : "missing";
      if (i >= slope.size() || slope[i].shape() != y[i].shape() ||
          (slope[i].dtype() != y[i].dtype() && !slope[i].weak()))
        fail(messages::slope_mismatch, {slopes.name(begin + i), to_string(y[i].aval()), got}, loc);
    }
  };
  std::vector<Array> slope;
  for (std::size_t k = 0; k < slopes.terms(); ++k) {
    if (slopes.is_control(k)) continue;
    const bool parts = slopes.structure() == TermStructure::Partitioned;
    const std::vector<Array> more = slopes.term(k, t0, parts ? slopes.part(1 - k, y0) : y0);
    check(more, parts && k == 1 ? slope.size() : 0, parts ? slopes.part(k, y0) : y0);
    if (parts || slope.empty())
      slope.insert(slope.end(), more.begin(), more.end());
    else
      for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = slope[i] + more[i];
  }
  if (slope.empty())
    for (const Array& y : y0) slope.push_back(zeros_like(y));
  return slope;
}

void check_slope(const std::vector<bool>& state, const std::vector<bool>& slope) {
  if (state.size() != slope.size())
    fail(messages::slope_leaves, {std::to_string(state.size()), std::to_string(slope.size())});
  for (std::size_t i = 0; i < state.size(); ++i)
    if (state[i] != slope[i])
      fail(messages::slope_absent,
           {std::to_string(i), state[i] ? "there" : "empty", slope[i] ? "there" : "empty"});
}

FlatSolution solve_flat(const FlatTerms& terms, const SolverRef& solver, const Array& t0, const Array& t1,
                        const Array& dt0, std::vector<Array> y0, ConstTreeRef like,
                        const SolveOptions& given_options, std::vector<FlatSave> beside, Loc loc) {
  const LocScope place(loc);
  solver.check(solver.self, loc);
  const std::vector<FlatSave> saves = save_requests(given_options.saveat, std::move(beside), loc);
  std::vector<Array> times{t0, t1, dt0};
  for (const FlatSave& save : saves) times.push_back(save.at.ts);
  GivenTimes given{t0, t1, dt0, !given_options.controller_state.end.is_empty(), Dtype::F64};
  check_structure(y0, terms.state, given, given_options, saves, loc);
  const Dtype dtype = given.dtype = common_dtype(times, y0);
  InputChecks checks(given_options.throw_, loc);
  check_times(checks, given, saves);
  check_controller(checks, given_options.controller, given, y0, terms.state);
  check_delays(checks, terms, given, y0, given_options);

  for (Array& y : y0) y = astype(y, promote({dtype, false}, {y.dtype(), y.weak()}).dtype);
  const Array direction = direction_of(given);
  const SolveOptions options = with_breaks(given_options, terms, solver, t0, dtype, direction);
  check_run_back(solver, Slopes(terms, direction), options, saves, loc);
  check_controls(checks, solver, Slopes(terms, direction), given, options);
  check_memories(checks, Slopes(terms, direction), given, options);
  const auto forward = [&](const Array& t) {
    if (t.is_empty()) return t;
    const bool known = is_concrete(t) && t.node()->literal && is_concrete(direction);
    return known ? literal(dtype, t.item<double>() * direction.item<double>()) : astype(t, dtype) * direction;
  };
  PastStates past(terms, solver, forward(t0), direction, y0);
  Problem p{solver,
            Slopes(terms, direction).seeing(past.lookup()),
            forward(t0),
            forward(t1),
            forward(dt0),
            std::move(y0),
            checks.refused(),
            Array(),
            options,
            options.controller.tolerances(),
            error_order_of(solver, Slopes(terms, direction)),
            like};
  if (p.slopes.delayed()) p.past = &past;
  p.shortest_delay = shortest_delay(terms, dtype);
  // Adjoints that go back by themselves know of no derivatives by times.
  const auto fixed = [&](const Array& t) {
    const bool reversible = options.adjoint == Adjoint::Reversible;
    if (t.is_empty() || (!reversible && options.adjoint != Adjoint::Backsolve)) return t;
    return nondifferentiable(t,
                             reversible ? "a time of a solve with Adjoint::Reversible"
                                        : "a time of a solve with Adjoint::Backsolve",
                             loc);
  };
  for (Array* t : {&p.t0, &p.t1, &p.dt0}) *t = fixed(*t);
  p.clip_from = p.t1 - time_rounding(p.t0, p.t1);
  for (const FlatSave& save : saves) {
    const Array& ts = save.at.ts;
    p.saves.push_back(save_part(p, save, ts.is_empty() ? Array() : within(forward(fixed(ts)), ts, given, p)));
  }

  check_backsolve(p, loc);
  if (!options.mass.is_empty()) take_mass(p, loc);
  std::vector<Array> slope = first_slope(p.slopes, p.t0, p.y0, loc);
  if (p.mass) slope = p.slopes.rate(p.t0, p.y0);
  check_noise(checks, p);
  p.refused = checks.refused();
  LoopState start = start_state(p, slope, loc);
  const std::int64_t most = attempts_allowed(options);
  // Who asks for checkpoints gets them.
  const bool bounded = options.checkpoints > 0 || options.checkpoint_bytes > 0;
  const Loop kind = bounded ? Loop::Checkpointed : Loop::Sensitivities;
  const auto steps = [&] {
    return while_loop(
        [&](const LoopState& s) { return s.start < p.t1 && s.code == 0 && s.attempts < most; },
        [&](const LoopState& s) { return attempt(p, s, loc); }, start,
        {.kind = kind, .checkpoints = options.checkpoints, .checkpoint_bytes = options.checkpoint_bytes},
        loc);
  };
  LoopState end = options.adjoint == Adjoint::Steps ? steps() : without_derivative(steps);
  if (options.adjoint == Adjoint::SteadyState) end.y = steady_state(p, end);
  if (options.adjoint == Adjoint::Reversible) derive_by_running_back(p, start, end);
  if (options.adjoint == Adjoint::Backsolve) derive_by_backsolve(p, end, loc);

  static_assert(static_cast<std::int64_t>(LoopResult::MaxStepsReached) ==
                code_of(SolveResult::MaxStepsReached));
  // What is not finite stays so: one look at the end finds what a controller let pass.
  Array code = where(end.start < p.t1, code_of(SolveResult::MaxStepsReached),
                     where(all_finite(end.y), 0, code_of(SolveResult::NonFinite)));
  code = where(end.code == 0, code, end.code);
  if (p.past != nullptr) p.past->look(end, Array());
  if (options.throw_) raise_failure(p, end, slope, code, loc);
  return collect(p, end, code);
}

}  // namespace apsis::detail
