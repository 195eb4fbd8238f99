#pragma once

// Ordinary differential equations. A solve is an ordinary program: jit, grad and vmap it like any other.
//
//   struct Decay {
//     Array rate;
//     Array operator()(const Array& t, const Array& y) const { return -rate * y; }
//   };
//   auto sol = diffeqsolve(ODETerm{Decay{0.5}}, Tsit5{}, 0., 1., {}, array({1., 2.}),
//                          {.controller = PIDController{.rtol = 1e-6, .atol = 1e-9}, .saveat = {.ts = ts}});
//   sol.ys;                                    // ts.size() × 2

#include "apsis/control/progress.hpp"
#include "apsis/diffeq/adjoint.hpp"
#include "apsis/diffeq/controller.hpp"
#include "apsis/diffeq/event.hpp"
#include "apsis/diffeq/runge_kutta.hpp"
#include "apsis/diffeq/save.hpp"
#include "apsis/diffeq/solve_call.hpp"
#include "apsis/transform/function.hpp"

namespace apsis {

/// How a solve ended; the numbers are Diffrax's, which throws where this has `Refused`: a time, a step or a
/// tolerance was no use, and no step was made.
enum class SolveResult : std::int64_t {
  Successful = 0,
  MaxStepsReached = 1,
  MaxStepsRejected = 12,  ///< more at a time than ClipStepSizeController has room for
  NonlinearDivergence =
      8,  ///< an implicit solver's equations, with steps that the controller does not shorten
  NonFinite = 9,
  DtMinReached = 10,
  EventOccurred = 11,  ///< an event ended the solve: no failure
  Refused = 100
};

/// Whether a solve reached t1, by its Solution::result, or an array of them; boolean.
Array is_successful(const Array& result, Loc loc = Loc::here());
/// Whether an event ended it.
Array is_event(const Array& result, Loc loc = Loc::here());
/// Whether it did one or the other.
Array is_okay(const Array& result, Loc loc = Loc::here());

/// Options of `diffeqsolve`.
struct SolveOptions {
  Controller controller = {};
  SaveAt saveat = {};
  /// What may end the solve before t1, or change its state on the way.
  std::vector<Event> events = {};
  /// M of M y' = f(t, y): a matrix over the elements of the state, leaf after leaf, or the diagonal of one,
  /// known when the program is made. It may be singular: f = 0 for what it does not reach are then algebraic
  /// equations, which must determine the rest of the state (index 1). Of y0 that part is a guess: it is
  /// solved for before the first step, and again after a change by an event. For Rodas5P, Radau5 and
  /// BackwardDifferences.
  Array mass = {};
  /// SteadyState asks for the state at t1 alone; Reversible for no events, no saveat.steps or .dense, and a
  /// max_steps; Backsolve for none of these either, no functions of what is saved, no delays, controls or
  /// mass matrix, and no pair of terms.
  Adjoint adjoint = Adjoint::Steps;
  BacksolveOptions backsolve = {};
  /// Attempts, rejected ones included, 0 or more; -1: no bound of yours, but then saveat.steps is refused,
  /// and after 10¹⁰ attempts the solve gives up all the same.
  std::int64_t max_steps = 4096;
  /// Whether a solve that fails, or is refused for the values of its times and tolerances, throws when it
  /// runs; otherwise see Solution::result.
  bool throw_ = true;
  /// As in WhileOptions: reverse mode keeps no more than so many states of the solve (2 or more), or states
  /// of so many bytes together, and takes steps again instead; 0: a tape of all steps. What is saved is not
  /// part of these states.
  std::int64_t checkpoints = 0;
  std::int64_t checkpoint_bytes = 0;
  /// Goes on where another solve by the same solver ended, which kept them: .saveat = {.solver_state = true,
  /// .controller_state = true}. t0 and y0 are then its end. Two solves are one with a step that ends between
  /// them, bit for bit: no slope is computed again, errors of the last steps and orders stay known, and the
  /// next step is as long as it would have been (dt0 is then left out). A controller of your own sees it as
  /// ControllerStart::end and ControllerStart::state.
  SolverMemory solver_state = {};
  ControllerMemory controller_state = {};
  /// When the solve says how far between t0 and t1 it is, and to whom; by default it does not.
  Progress progress = {};
};

/// How many steps a solve made: attempts, and how many of them were accepted and rejected. And what they cost
/// (StepWork): evaluations of the slope without those of Jacobians, Jacobians, and matrices factorised; the
/// first slope, the choice of the first step and events are not part of it.
struct SolveStats {
  Array num_steps, num_accepted_steps, num_rejected_steps;   ///< i64
  Array num_evaluations, num_jacobians, num_factorisations;  ///< i64
};

/// The steps of a solve as its solver's interpolation sees them; empty unless asked for. Times run forwards:
/// they are multiplied with the direction. Of `rows` steps `count` were made.
template <class Y>
struct DenseSteps {
  Array count, direction;     ///< i64, and 1 or -1
  Array ts, lengths;          ///< where steps begin, and the last ends, [rows + 1]; how long they are, [rows]
  Y start;                    ///< the state at t0
  Y y0, y1;                   ///< [rows, …]
  std::vector<Array> within;  ///< [rows, …] each
};

/// What `diffeqsolve` returns. With requests of what to save (SubSaveAt) `Ys` and `Ts` are as these are.
template <class Y, class Ys = Y, class Ts = Array>
struct Solution {
  Ts ts;  ///< times saved
  Ys ys;  ///< states saved, or what functions made of them, stacked along axis 0
  SolveStats stats;
  Array result;                       ///< i64: a SolveResult
  Occurrences<Y> events;              ///< what occurred
  DenseSteps<Y> dense;                ///< for `dense_interpolation`
  Ts rows;                            ///< i64: how many rows of ts and ys are used
  SolverMemory solver_state;          ///< empty unless asked for
  ControllerMemory controller_state;  ///< empty unless asked for
};

namespace detail {

struct FlatSolution {
  std::vector<FlatSaved> saved;  // of each request
  SolveStats stats;
  Array result;
  Array mask, counts, event_ts, which;  // empty without events
  std::vector<Array> event_ys;
  DenseSteps<std::vector<Array>> dense;
  SolverMemory solver_state;
  ControllerMemory controller_state;
};
/// `like`: the state, whose type the functions of events and of what is saved must take. `saves`: what is
/// saved at all, nothing where options.saveat says it.
FlatSolution solve_flat(const FlatTerms& terms, const SolverRef& solver, const Array& t0, const Array& t1,
                        const Array& dt0, std::vector<Array> y0, ConstTreeRef like,
                        const SolveOptions& options, std::vector<FlatSave> saves, Loc loc);

/// A tree like `like` with these leaves, or with none.
template <class Y>
Y with_leaves_or_none(const Y& like, std::span<const Array> leaves) {
  if (!leaves.empty()) return with_leaves(like, leaves);
  Y none = like;
  clear_leaves(none);
  return none;
}

/// The same steps, of the state's type.
template <class Y>
DenseSteps<Y> steps_like(const Y& like, const DenseSteps<std::vector<Array>>& s) {
  return {s.count,
          s.direction,
          s.ts,
          s.lengths,
          with_leaves_or_none(like, s.start),
          with_leaves_or_none(like, s.y0),
          with_leaves_or_none(like, s.y1),
          s.within};
}

/// Solves on the leaves of the state.
template <class Term, class Method, class State>
FlatSolution solve_tree(const Term& term, const Method& solver, const Array& t0, const Array& t1,
                        const Array& dt0, const State& start, const SolveOptions& options,
                        std::vector<FlatSave> saves, Loc loc) {
  const NamedTree named{tree_ref(start), "y0"};
  const TermsOf<Term, State> terms{term, start};
  std::vector<Array> leaves;
  collect_leaves(start, leaves);
  return solve_flat(terms.flat(names_of(named)), solver_ref(solver), t0, t1, dt0, std::move(leaves),
                    tree_ref(start), options, std::move(saves), loc);
}

template <class State, class Ts, class Ys>
Solution<State, Ys, Ts> solution_of(const State& like, const FlatSolution& s, Ts ts, Ys ys, Ts rows) {
  return {std::move(ts),
          std::move(ys),
          s.stats,
          s.result,
          {s.mask, s.counts, s.event_ts, s.which, with_leaves_or_none(like, s.event_ys)},
          steps_like(like, s.dense),
          std::move(rows),
          s.solver_state,
          s.controller_state};
}

/// What a refused call returns, so that no other error buries the sentence.
template <class Y>
using solution_t = Solution<std::conditional_t<is_state<Y>, argument_t<Y>, Array>>;

}  // namespace detail

/// Solves the equation that the term says, y' = f(t, y), y(t0) = y0, up to t1, which may lie before t0. `dt0`
/// is the first step ({}: chosen by the controller). Times and state are promoted to one floating dtype. The
/// solve is differentiable, both ways, in the parameters of the term, y0, t0, t1 and the save times; adaptive
/// step sizes count as constants. Throws, before its first step, where times, steps or options are none to go
/// by; and if the solve fails: too many steps, a state or slope that is not finite, or steps that became too
/// short. Events (see Event) may end it before t1: that is no failure.
template <class Term, class Method, class Y = SolveOptions, class Options = SolveOptions>
detail::solution_t<Y> diffeqsolve(const Term& term, const Method& solver, const Array& t0, const Array& t1,
                                  const Array& dt0, const Y& y0, const Options& options = {},
                                  Loc loc = Loc::here()) {
  if constexpr (!detail::SolveCall<Term, Method, Y, Options>) {
    detail::refuse_solve<Term, Method, Y, Options>();
    return {};
  } else {
    const detail::argument_t<Y> start = y0;
    const detail::FlatSolution s =
        detail::solve_tree(term, solver, t0, t1, dt0, start, options, std::vector<detail::FlatSave>(), loc);
    const detail::FlatSaved& saved = s.saved[0];
    return detail::solution_of(start, s, saved.ts, detail::with_leaves(start, saved.ys), saved.rows);
  }
}

/// The same with requests of what to save: a SubSaveAt, or a tuple, pair, array or vector of them. Of the
/// saveat of the options t0, ts, steps and t1 must then be left out.
template <class Term, class Method, class Y, class Saves>
requires detail::SolveCall<Term, Method, Y, SolveOptions> && detail::is_save_request<Saves>
auto diffeqsolve(const Term& term, const Method& solver, const Array& t0, const Array& t1, const Array& dt0,
                 const Y& y0, const SolveOptions& options, const Saves& saves, Loc loc = Loc::here()) {
  using State = detail::argument_t<Y>;
  constexpr detail::SaveFault fault = detail::save_fault<Saves, State>;
  static_assert(fault != detail::SaveFault::Arguments,
                "the function of a SubSaveAt is called as fn(t, y): it must take the time, an Array, and the "
                "type of the state y0");
  static_assert(fault != detail::SaveFault::Result,
                "the function of a SubSaveAt must return an Array, or a tree of Arrays such as your own "
                "struct");
  if constexpr (fault == detail::SaveFault::None) {
    const State start = y0;
    std::vector<detail::FlatSave> flat;
    const detail::SavePlan<Saves, State> plan(saves, "saves", flat);
    const detail::FlatSolution s =
        detail::solve_tree(term, solver, t0, t1, dt0, start, options, std::move(flat), loc);
    const auto part = [&](const auto& of) { return plan.map(s.saved, start, of); };
    return detail::solution_of(start, s,
                               part([](const detail::FlatSaved& saved, const auto&) { return saved.ts; }),
                               part([](const detail::FlatSaved& saved, const auto& like) {
                                 return detail::with_leaves(like, saved.ys);
                               }),
                               part([](const detail::FlatSaved& saved, const auto&) { return saved.rows; }));
  } else {
    return Solution<State>();
  }
}

/// Refuses what is no request behind the options.
template <class Term, class Method, class Y, class Saves>
requires(!detail::is_save_request<Saves> && !std::is_same_v<Saves, SolveOptions> &&
         !std::is_same_v<Saves, Loc>) Solution<Array> diffeqsolve(const Term&, const Method&, const Array&,
                                                                  const Array&, const Array&, const Y&,
                                                                  const SolveOptions&, const Saves&) {
  static_assert(sizeof(Saves) == 0,
                "behind the options diffeqsolve takes requests of what to save: SubSaveAt(fn, {.ts = ts}), "
                "or a tuple, pair, array or vector of such");
  return {};
}

/// Refuses arguments for the vector field between the state and the options.
template <class Term, class Method, class Y, class Args>
Solution<Array> diffeqsolve(const Term&, const Method&, const Array&, const Array&, const Array&, const Y&,
                            const Args&, const SolveOptions&) {
  static_assert(sizeof(Args) == 0,
                "diffeqsolve passes nothing on to the vector field but time and state: parameters are what "
                "it captures, or its fields");
  return {};
}

/// Refuses calls with other arguments.
template <class... A>
requires(sizeof...(A) < 6 || sizeof...(A) > 8) Solution<Array> diffeqsolve(const A&...) {
  static_assert(sizeof...(A) == 100,
                "diffeqsolve takes (term, solver, t0, t1, dt0, y0, {options}): the options may be left out, "
                "nothing else; "
                "dt0 is {} where an adaptive controller finds the first step");
  return {};
}

}  // namespace apsis
