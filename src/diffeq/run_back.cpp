// Derivatives of a solve whose steps run back exactly, without a tape: the adjoint takes the steps from t1 to
// t0, and on each of them pulls cotangents back. Nothing here may refer to the solve: it is over by then. So
// what a step does is kept as a program, whose captures, the parameters of the equation among them, are
// arguments.
//
// (Kidger, Foster, Li, Lyons, Efficient and accurate gradients for neural SDEs, NeurIPS 2021, algorithm 2;
// McCallum, Foster, Efficient, accurate and stable gradients for neural ODEs, arXiv:2410.11648.)

#include "apsis/control/while_loop.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/forbid.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/transform/closure.hpp"
#include "apsis/transform/eval_shape.hpp"
#include "apsis/transform/grad.hpp"
#include "diffeq/checked.hpp"
#include "diffeq/cotangents.hpp"
#include "diffeq/messages.hpp"
#include "diffeq/problem.hpp"

namespace apsis::detail {
namespace {

/// What a step makes of the state and of what the solver keeps.
struct Stepped {
  Arrays y, own, dense;
};
struct Remembering {
  Stepped step;
  PathMemory paths;
};
/// (t0, t1, y, own, paths) → the step.
using StepProgram = Closure<Remembering(Array, Array, Arrays, Arrays, PathMemory)>;
/// (θ, h, y0, y1, dense) → the state within a step.
using InnerProgram = Closure<Arrays(Array, Array, Arrays, Arrays, Arrays)>;

/// What derivatives are taken of.
struct Given {
  StepProgram step;
  InnerProgram inner;
  Arrays y0, own0;
};
/// What was made of it, and what the way back needs to know.
struct Made {
  Arrays saved, y, own;
  Array ends, count;  // where steps end, from t0 on, and how many there are
  Array ts, rows;     // times saved at, and how many of them were; ts is empty where there are none
  Array direction;
  PathMemory paths;
};
/// What the way back carries: the state at the end of step `step - 1`, and cotangents.
struct Back {
  Array step, row;
  Arrays y, own;
  PathMemory paths;
  Arrays by_y, by_own, by_captures, by_inner;
};

/// The memory of paths before a step of this number: of those that count increments, the count.
PathMemory counted(PathMemory paths, const Array& step) {
  for (Arrays& memory : paths)
    if (memory.size() == 1) memory[0] = step;
  return paths;
}

/// Adds what the times saved within this step have of the cotangents.
Back pull_saved(const Given& g, const Made& m, const Arrays& by_saved, const Array& t0, const Array& t1,
                const Arrays& y0, const Stepped& step, Stepped& by_step, Back back) {
  if (m.ts.is_empty()) return back;
  struct Rows {
    Array row;
    Arrays by_y0, by_y1, by_dense, by_inner;
  };
  const Array length = t1 - t0;
  const auto pull = [&](const Rows& v) {
    const Array row = v.row - 1, theta = (m.ts[row] - t0) / length;
    const auto within = [&](const InnerProgram& inner, const Arrays& a, const Arrays& b,
                            const Arrays& dense) { return inner(theta, length * m.direction, a, b, dense); };
    Arrays cotangents;
    for (const Array& a : by_saved) cotangents.push_back(a[row]);
    const auto [inner, a, b, dense] = vjp(within, g.inner, y0, step.y, step.dense).second(cotangents);
    return Rows{row, sum_of(v.by_y0, a), sum_of(v.by_y1, b), sum_of(v.by_dense, dense),
                sum_of(v.by_inner, inner.captures)};
  };
  const Rows rows =
      while_loop([&](const Rows& v) { return v.row > 0 && m.ts.at(v.row - 1).get(IndexMode::Clip) > t0; },
                 pull, Rows{back.row, zeros_of(y0), by_step.y, by_step.dense, back.by_inner});
  back.row = rows.row;
  back.by_y = rows.by_y0;
  by_step.y = rows.by_y1;
  by_step.dense = rows.by_dense;
  back.by_inner = rows.by_inner;
  return back;
}

/// One step back: first the state at its start, then its pull-back there.
Back step_back(const Given& g, const Made& m, const Arrays& by_saved, const Back& v) {
  const Array step = v.step - 1, t0 = m.ends[step], t1 = m.ends[v.step];
  const Remembering undone = g.step(t1, t0, v.y, v.own, counted(v.paths, step));
  const Arrays &y0 = undone.step.y, &own0 = undone.step.own;
  const PathMemory paths = counted(undone.paths, step);
  const auto again = [&](const StepProgram& program, const Arrays& y, const Arrays& own) {
    return program(t0, t1, y, own, paths).step;
  };
  const auto [stepped, pull] = vjp(again, g.step, y0, own0);
  Stepped by_step{v.by_y, v.by_own, zeros_of(stepped.dense)};
  Back back = v;
  back.by_y = zeros_of(y0);
  back = pull_saved(g, m, by_saved, t0, t1, y0, stepped, by_step, back);
  const auto [program, by_y, by_own] = pull(by_step);
  back.step = step;
  back.y = y0;
  back.own = own0;
  back.paths = undone.paths;
  back.by_y = sum_of(back.by_y, by_y);
  back.by_own = there(by_own, own0);
  back.by_captures = sum_of(v.by_captures, program.captures);
  return back;
}

std::tuple<Given, Made> run_back(const std::pair<Given, Made>& kept, const SolveResult& by) {
  // The end of the solve is known here without its derivatives, which those of this would need.
  const Given g = nondifferentiable(kept.first, "a gradient by Adjoint::Reversible");
  const Made& m = kept.second;
  const Arrays by_saved = m.ts.is_empty() ? Arrays() : there(by.saved, m.saved);
  const Back start{m.count,
                   m.rows,
                   m.y,
                   m.own,
                   m.paths,
                   there(by.y, m.y),
                   zeros_of(m.own),
                   zeros_of(g.step.captures),
                   zeros_of(g.inner.captures)};
  const Back end = while_loop([](const Back& v) { return v.step > 0; },
                              [&](const Back& v) { return step_back(g, m, by_saved, v); }, start);
  Given by_given = g;
  by_given.step.captures = end.by_captures;
  by_given.inner.captures = end.by_inner;
  by_given.y0 = end.by_y;
  by_given.own0 = end.by_own;
  Made none = m;
  clear_leaves(none);
  return {by_given, none};
}

StepProgram step_program(const Problem& p, const LoopState& start) {
  const auto step = [&](const Array& t0, const Array& t1, const Arrays& y, const Arrays& own,
                        const PathMemory& before) {
    PathMemory paths = before;
    const Slopes slopes = p.slopes.remembering(paths);
    const SolverAttempt made = checked_step(p.solver, {slopes, t0, t1, y, own, p.tolerances});
    return Remembering{{made.y1, made.state, made.dense}, paths};
  };
  return closure_convert(step, start.start, start.end, start.y, start.solver, start.paths);
}
InnerProgram inner_program(const Problem& p, const LoopState& start) {
  const Slopes& slopes = p.slopes;
  PathMemory paths = start.paths;
  const Arrays dense = eval_shape(
      [&](const Array& t0) {
        return checked_step(p.solver,
                            {slopes.remembering(paths), t0, p.t1, start.y, start.solver, p.tolerances})
            .dense;
      },
      p.t0);
  const auto within = [&](const Array& theta, const Array& h, const Arrays& y0, const Arrays& y1,
                          const Arrays& more) {
    return checked_interpolation(p.solver, {theta, h, y0, y1, more});
  };
  return closure_convert(within, p.t0, p.t1, start.y, start.y, dense);
}

}  // namespace

void check_run_back(const SolverRef& solver, const Slopes& slopes, const SolveOptions& options,
                    std::span<const FlatSave> saves, Loc loc) {
  if (options.adjoint != Adjoint::Reversible) return;
  if (!solver.traits.reversible) fail(messages::not_reversible, {solver.traits.name}, loc);
  const SaveAt& save = options.saveat;
  const auto* clip = options.controller.as<ClipStepSizeController>();
  const char* what = saves.size() != 1                   ? "several requests of what to save"
                     : saves[0].fn.is_set()              ? "a function of what is saved"
                     : saves[0].at.steps != 0            ? "saveat.steps"
                     : save.dense                        ? "saveat.dense"
                     : save.solver_state                 ? "saveat.solver_state"
                     : slopes.delayed()                  ? "delays"
                     : !options.events.empty()           ? "events"
                     : options.max_steps < 0             ? "max_steps = -1"
                     : clip && !clip->jump_ts.is_empty() ? "ClipStepSizeController::jump_ts"
                                                         : nullptr;
  if (what) fail(messages::reversible_without, {what}, loc);
}

void start_trail(const Problem& p, LoopState& s) {
  if (p.options.adjoint == Adjoint::Reversible) s.trail.push_back(full({p.options.max_steps + 1}, p.t0));
}

void derive_by_running_back(const Problem& p, const LoopState& start, LoopState& end) {
  const Given given{step_program(p, start), inner_program(p, start), start.y, start.solver};
  const Made made{only_values(end.saved[0].ys),
                  only_values(end.y),
                  only_values(end.solver),
                  end.trail[0],
                  end.accepted,
                  p.saves[0].saves_times() ? p.saves[0].ts : Array(),
                  end.saved[0].count,
                  p.slopes.direction(),
                  end.paths};
  derive_by(run_back, given, made, end);
}

}  // namespace apsis::detail
