#pragma once

// What a solver is: a type with the members of the concept `StepSolver`, or with a table of coefficients (of
// an explicit Runge-Kutta method: apsis/diffeq/runge_kutta.hpp), which makes one. Solvers see the leaves of
// the state, in time that runs forwards (see `Slopes`).
//
//   struct Leapfrog {                                          // y(t + h) = y(t - h) + 2 h f(t, y)
//     StepTraits traits() const { return {.name = "Leapfrog", .order = 2}; }
//     std::vector<Array> init(const SolverStart& s) const { return {s.t0, s.y0[0]}; }
//     SolverAttempt step(const SolverStep& s) const {
//       Array h = s.slopes.length(s.state[0], s.t1);           // Euler's method at first
//       return {.y1 = {s.state[1] + h * s.slopes(s.t0, s.y0)[0]}, .state = {s.t0, s.y0[0]}};
//     }
//     LocalLinearInterpolation interpolation() const { return {}; }
//   };

#include <concepts>
#include <span>
#include <vector>

#include "apsis/base/loc.hpp"
#include "apsis/core/array.hpp"
#include "apsis/diffeq/controller.hpp"
#include "apsis/diffeq/terms.hpp"

namespace apsis {

/// What vector fields of Brownian motion may be: any; of which the order does not matter, D(gᵢ)·gⱼ =
/// D(gⱼ)·gᵢ, as those of a single motion, or of diagonal noise where each element has its own; or such that
/// do not depend on the state.
enum class NoiseKind : std::uint8_t { General, Commutative, Additive };

/// What is fixed of a solver.
struct StepTraits {
  const char* name = "Solver";  ///< what errors call it
  int order;
  /// The order that step size controllers go by, of the solution whose error is estimated; 0: the solver
  /// estimates none.
  int error_order = 0;
  /// The state begins with the slope at the start of the next step.
  bool keeps_slope = false;
  /// Steps solve equations, and may fail to.
  bool implicit = false;
  /// Steps may have no result for another reason: SolverAttempt::failed.
  bool may_fail = false;
  /// Takes equations M y' = f(t, y): Slopes::mass.
  bool takes_mass = false;
  /// Whether it uses the controls of ControlTerms, and what it converges to if they are Brownian motion.
  bool takes_controls = false;
  Calculus calculus = Calculus::Any;
  /// The strong order, of E |error|, with Brownian motion; 0: it does not take any. Step size controllers
  /// then go by this order and a half.
  double strong_order = 0;
  LevyArea levy_area = LevyArea::None;   ///< what it needs of Brownian motion
  NoiseKind noise = NoiseKind::General;  ///< what it needs of the vector fields
  /// A step from t1 to t0, from the state and the solver's own at t1, gives those that a step from t0 to t1
  /// began with, but for rounding; it asks for increments of controls once.
  bool reversible = false;
  /// SolverAttempt::work is not the same for each step.
  bool varying_work = false;
};

/// What a solver sees before the first step, and again where the state was changed from outside.
struct SolverStart {
  const Slopes& slopes;
  const Array& t0;
  std::span<const Array> y0;
  std::span<const Array> slope;  ///< dy/dt there
};
/// What it sees of a step.
struct SolverStep {
  const Slopes& slopes;
  const Array &t0, &t1;
  std::span<const Array> y0;
  std::span<const Array> state;  ///< its own, after the last accepted step
  const Tolerances& tolerances;  ///< the controller's, for equations within the step; empty if it has none
};
/// What a step costs: how often the slope was evaluated (without its derivatives), its Jacobian made, a
/// matrix factorised; i64 each. Empty: as often as step() asked for the slope, as it is written, and 0.
struct StepWork {
  Array evaluations, jacobians, factorisations;
};
/// What a solver makes of it.
struct SolverAttempt {
  std::vector<Array> y1;          ///< the state at t1
  std::vector<Array> error = {};  ///< its estimated error; nothing without an estimate
  std::vector<Array> dense = {};  ///< what the interpolation needs besides y0 and y1
  std::vector<Array> state = {};  ///< the solver's own, if the step is accepted
  Array failed = {};              ///< a boolean: there is no y1, try a shorter step; empty: there always is
  StepWork work = {};             ///< numbers, or, with StepTraits::varying_work, of the program
};
/// A step as its interpolation sees it.
struct DenseStep {
  const Array& theta;  ///< where between y0 and y1, from 0 to 1
  const Array& h;      ///< the length of the step, negative in a solve that goes back
  std::span<const Array> y0, y1, dense;
};

/// Gives the state within a step.
template <class I>
concept LocalInterpolation = requires(const I& i, const DenseStep& step) {
  { i.evaluate(step) } -> std::same_as<std::vector<Array>>;
};
/// A solver by its members; see the head of this file. It may have a member `terms`, the TermStructure it
/// takes, and a member `check(Loc)`, which throws if its options are of no use.
template <class S>
concept StepSolver = requires(const S& s, const SolverStart& start, const SolverStep& step) {
  { s.traits() } -> std::same_as<StepTraits>;
  { s.init(start) } -> std::same_as<std::vector<Array>>;
  { s.step(step) } -> std::same_as<SolverAttempt>;
  { s.interpolation() } -> LocalInterpolation;
};

/// The straight line from y0 to y1.
struct LocalLinearInterpolation {
  std::vector<Array> evaluate(const DenseStep& step) const;
};
/// The cubic through y0 and y1 with the slopes there, which are `dense`: first those at the start, then those
/// at the end (Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, II.6).
struct ThirdOrderHermiteInterpolation {
  std::vector<Array> evaluate(const DenseStep& step) const;
};

namespace detail {

/// A solver without its type. Points to it.
struct SolverRef {
  const void* self;
  StepTraits traits;
  void (*check)(const void*, Loc);
  std::vector<Array> (*init)(const void*, const SolverStart&);
  SolverAttempt (*step)(const void*, const SolverStep&);
  std::vector<Array> (*interpolate)(const void*, const DenseStep&);
};
/// Methods by tables of one type: `ref(solver)` makes a SolverRef of a solver with such a table.
template <class Table>
struct SolverFamily;
template <class S>
concept TableOfFamily = requires(const S& s) {
  { SolverFamily<std::remove_cvref_t<decltype(S::method())>>::ref(s) } -> std::same_as<SolverRef>;
};

}  // namespace detail

/// A solver by its table: a type with a static `method()` that returns a RungeKutta, a
/// DiagonallyImplicitRungeKutta, a Rosenbrock or a SymplecticComposition.
template <class S>
concept TableSolver = detail::TableOfFamily<S>;
/// What diffeqsolve takes as solver.
template <class S>
concept Solver = TableSolver<S> || StepSolver<S>;

namespace detail {

template <class S>
SolverRef solver_ref(const S& solver) {
  if constexpr (TableSolver<S>) {
    return SolverFamily<std::remove_cvref_t<decltype(S::method())>>::ref(solver);
  } else {
    SolverRef ref{&solver, solver.traits(), [](const void*, Loc) {}, {}, {}, {}};
    if constexpr (requires(Loc loc) { solver.check(loc); })
      ref.check = [](const void* s, Loc loc) { static_cast<const S*>(s)->check(loc); };
    ref.init = [](const void* s, const SolverStart& start) { return static_cast<const S*>(s)->init(start); };
    ref.step = [](const void* s, const SolverStep& step) { return static_cast<const S*>(s)->step(step); };
    ref.interpolate = [](const void* s, const DenseStep& step) {
      return static_cast<const S*>(s)->interpolation().evaluate(step);
    };
    return ref;
  }
}
template <class S>
constexpr TermStructure terms_of() {
  if constexpr (requires { S::terms; })
    return S::terms;
  else
    return TermStructure::Whole;
}

/// A constant, so that compilers do not explain the concept line by line.
template <class S>
inline constexpr bool is_solver = Solver<S>;

}  // namespace detail
}  // namespace apsis
