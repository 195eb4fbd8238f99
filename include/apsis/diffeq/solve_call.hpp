#pragma once

// What calls of diffeqsolve must be by their types, and what the compiler says of others.

#include <cstdint>
#include <type_traits>
#include <utility>

#include "apsis/diffeq/controller.hpp"
#include "apsis/diffeq/solver.hpp"
#include "apsis/diffeq/terms.hpp"
#include "apsis/transform/function.hpp"

namespace apsis {

struct SolveOptions;

namespace detail {

/// What is wrong with a vector field that takes a time and `In`, and returns `Out`.
enum class FieldFault : std::uint8_t {
  None,
  Arguments,
  Result,
  Control,
  Langevin,
  Delay,
  OwnField,
  OwnProduct
};
template <class F, class In, class Out>
constexpr FieldFault field_fault() {
  if constexpr (!is_callable_with<F, Array, In>)
    return FieldFault::Arguments;
  else
    return returns_into<Out, F, Array, In> ? FieldFault::None : FieldFault::Result;
}
/// The first fault of the vector fields of a term with such a state.
template <class F, class State>
constexpr FieldFault fault_of(const ODETerm<F>*, const State*) {
  return field_fault<F, State, State>();
}
template <class F, class H, class State>
constexpr FieldFault fault_of(const DelayTerm<F, H>*, const State*) {
  if constexpr (!is_callable_with<F, Array, State, Past<State>> || !is_callable_with<H, Array>)
    return FieldFault::Delay;
  else
    return returns_into<State, F, Array, State, Past<State>> && returns_into<State, H, Array>
               ? FieldFault::None
               : FieldFault::Delay;
}
template <class F, class P, class State>
constexpr FieldFault fault_of(const ControlTerm<F, P>*, const State*) {
  if constexpr (!is_callable_with<F, Array, State>)
    return FieldFault::Arguments;
  else
    return is_control_field<std::decay_t<std::invoke_result_t<const F&, Array, State>>, State>
               ? FieldFault::None
               : FieldFault::Control;
}
template <class G, class U, class F, class State>
constexpr FieldFault fault_of(const UnderdampedLangevinDriftTerm<G, U, F>*, const State*) {
  return FieldFault::Langevin;
}
template <class G, class U, class F, class X>
constexpr FieldFault fault_of(const UnderdampedLangevinDriftTerm<G, U, F>*, const std::pair<X, X>*) {
  return returns_into<X, F, X> ? FieldFault::None : FieldFault::Langevin;
}
template <class G, class U, class P, class State>
constexpr FieldFault fault_of(const UnderdampedLangevinDiffusionTerm<G, U, P>*, const State*) {
  return FieldFault::Langevin;
}
template <class G, class U, class P, class X>
constexpr FieldFault fault_of(const UnderdampedLangevinDiffusionTerm<G, U, P>*, const std::pair<X, X>*) {
  return FieldFault::None;
}
template <class T, class State>
requires is_own_term<T>
constexpr FieldFault fault_of(const T*, const State*) {
  if constexpr (!OwnVectorField<T, State>)
    return FieldFault::OwnField;
  else
    return OwnProduct<T, State> ? FieldFault::None : FieldFault::OwnProduct;
}
template <class... T, class State>
constexpr FieldFault fault_of(const MultiTerm<T...>*, const State* state) {
  FieldFault fault = FieldFault::None;
  ((fault = fault == FieldFault::None ? fault_of(static_cast<const T*>(nullptr), state) : fault), ...);
  return fault;
}
template <class A, class B, class Q, class P>
constexpr FieldFault fault_of(const std::pair<ODETerm<A>, ODETerm<B>>*, const std::pair<Q, P>*) {
  constexpr FieldFault first = field_fault<A, P, Q>();
  return first == FieldFault::None ? field_fault<B, Q, P>() : first;
}
template <class Term, class State>
inline constexpr FieldFault fields_fault = fault_of(static_cast<const Term*>(nullptr),
                                                    static_cast<const State*>(nullptr));

template <class T>
concept Time = std::is_convertible_v<const T&, Array>;
template <class Y>
inline constexpr bool is_state = !is_refused(tree_kind<argument_t<Y>>) &&
                                 !std::is_arithmetic_v<argument_t<Y>> && !std::is_same_v<Y, SolveOptions>;
template <class Y>
requires std::is_arithmetic_v<typename Y::value_type>
inline constexpr bool is_state<Y> = false;

/// Whether a solver takes terms of this structure, and they such a state.
template <class T, class S>
inline constexpr bool terms_fit = terms_of<S>() == TermStructure::Split
                                      ? TermShape<T>::structure == TermStructure::Whole&& TermShape<T>::count
                                            == 2
                                  : terms_of<S>() == TermStructure::Langevin
                                      ? is_langevin<T>
                                      : TermShape<T>::structure == terms_of<S>();
template <class T, class State>
inline constexpr bool state_fits = TermShape<T>::structure != TermStructure::Partitioned || is_pair<State>;

template <class T, class S, class Y, class O>
concept SolveCall = TermShape<T>::is_term && Solver<S> && is_state<Y> && std::is_same_v<O, SolveOptions> &&
    terms_fit<T, S> && state_fits<T, argument_t<Y>> && fields_fault<T, argument_t<Y>>
== FieldFault::None;

/// A constant, so that compilers do not add what it evaluates to.
template <class T, class Y, FieldFault fault>
inline constexpr bool is_without = fields_fault<T, Y> != fault;

/// Refuses a call by its types, with one sentence.
template <class T, class S, class Y, class O>
constexpr void refuse_solve() {
  constexpr bool integer = std::is_integral_v<Y>;
  if constexpr (Solver<T>)
    static_assert(!Solver<T>,
                  "diffeqsolve takes the term first, then the solver: diffeqsolve(ODETerm{f}, Tsit5{}, …)");
  else if constexpr (sums_delays<T>)
    static_assert(
        !sums_delays<T>,
        "a DelayTerm stands alone: put what the other terms say into its vector field f(t, y, past)");
  else if constexpr (!TermShape<T>::is_term && resembles_own_term<T>)
    static_assert(TermShape<T>::is_term,
                  "a term of your own needs control(t0, t1), what its control does from t0 to t1, besides "
                  "vector_field(t, y) and product(field, control); where time alone drives it, write "
                  "ODETerm{f}");
  else if constexpr (!TermShape<T>::is_term)
    static_assert(
        TermShape<T>::is_term,
        "the first argument of diffeqsolve must be a term: write ODETerm{f} for the vector field f(t, y), or "
        "MultiTerm{…} or a std::pair of such terms; ControlTerm{g, path} where a path drives the equation, "
        "DelayTerm{f, history, {delays}} where it has delays, or a type of your own as OwnTerm says");
  else if constexpr (!is_solver<S>)
    static_assert(
        is_solver<S>,
        "the second argument of diffeqsolve must be a solver, such as Tsit5{}: a type with a static method() "
        "that returns its RungeKutta table, or with traits(), init(), step() and interpolation() as "
        "StepSolver has them");
  else if constexpr (!terms_fit<T, S> && terms_of<S>() == TermStructure::Split)
    static_assert(terms_fit<T, S>,
                  "this solver splits the equation: give MultiTerm{ODETerm{f}, ODETerm{g}}, with the stiff "
                  "part g second");
  else if constexpr (!terms_fit<T, S> && terms_of<S>() == TermStructure::Partitioned)
    static_assert(
        terms_fit<T, S>,
        "this solver takes q' = f(t, p), p' = g(t, q): give std::pair{ODETerm{f}, ODETerm{g}} and the "
        "state std::pair{q, p}");
  else if constexpr (!terms_fit<T, S> && terms_of<S>() == TermStructure::Langevin)
    static_assert(
        terms_fit<T, S>,
        "this solver is for underdamped Langevin diffusion: give underdamped_langevin(gamma, u, grad_f, "
        "path), and the state std::pair{x, v}");
  else if constexpr (!terms_fit<T, S>)
    static_assert(terms_fit<T, S>,
                  "this solver takes ODETerm{f}, or a MultiTerm; pairs of terms are for solvers such as "
                  "SemiImplicitEuler");
  else if constexpr (std::is_same_v<Y, SolveOptions>)
    static_assert(
        !std::is_same_v<Y, SolveOptions>,
        "diffeqsolve takes (term, solver, t0, t1, dt0, y0, {options}), and dt0 is missing: give the first "
        "step, or {} to an adaptive controller, which finds it");
  else if constexpr (integer)
    static_assert(!integer,
                  "the state y0 of diffeqsolve is an integer: states are floating, write 1. instead of 1");
  else if constexpr (!is_state<Y>)
    static_assert(is_state<Y>,
                  "the state y0 of diffeqsolve must be an Array, a double, or a tree of Arrays such as your "
                  "own struct; "
                  "array({1., 2.}) and array(vector) make Arrays of numbers");
  else if constexpr (!state_fits<T, argument_t<Y>>)
    static_assert(state_fits<T, argument_t<Y>>, "a pair of terms needs a pair as state y0: std::pair{q, p}");
  else if constexpr (fields_fault<T, argument_t<Y>> == FieldFault::Arguments)
    static_assert(
        is_without<T, argument_t<Y>, FieldFault::Arguments>,
        "diffeqsolve calls the vector field as f(t, y): it must take the time, an Array, and the type "
        "of the state y0 (of a pair of terms, that of the other part of it); parameters are what f "
        "captures, or its fields");
  else if constexpr (fields_fault<T, argument_t<Y>> == FieldFault::Result)
    static_assert(is_without<T, argument_t<Y>, FieldFault::Result>,
                  "the vector field of diffeqsolve must return the slope, of the type of the state y0 (of a "
                  "pair of terms, that of its own part of it)");
  else if constexpr (fields_fault<T, argument_t<Y>> == FieldFault::Control)
    static_assert(
        is_without<T, argument_t<Y>, FieldFault::Control>,
        "the vector field of a ControlTerm must return a tree of the type of the state y0, each leaf "
        "with the axes of the control behind its own; or Diagonal{…} of such a tree, or a "
        "LinearOperator");
  else if constexpr (fields_fault<T, argument_t<Y>> == FieldFault::Delay)
    static_assert(is_without<T, argument_t<Y>, FieldFault::Delay>,
                  "a DelayTerm calls its vector field as f(t, y, past), past being a Past<Y> of the type Y "
                  "of the state "
                  "y0, and its history as history(t): both must take Arrays as times, and return the type of "
                  "the state");
  else if constexpr (fields_fault<T, argument_t<Y>> == FieldFault::Langevin)
    static_assert(
        is_without<T, argument_t<Y>, FieldFault::Langevin>,
        "the terms of underdamped Langevin diffusion take the state std::pair{x, v} of two trees of one "
        "type, and grad_f(x) returns one");
  else if constexpr (fields_fault<T, argument_t<Y>> == FieldFault::OwnField)
    static_assert(is_without<T, argument_t<Y>, FieldFault::OwnField>,
                  "a term of your own needs vector_field(t, y), which takes the time, an Array, and the type "
                  "of the state y0");
  else if constexpr (fields_fault<T, argument_t<Y>> == FieldFault::OwnProduct)
    static_assert(
        is_without<T, argument_t<Y>, FieldFault::OwnProduct>,
        "a term of your own needs product(field, control), which takes what its vector_field(t, y) and its "
        "control(t0, t1) return, and returns the type of the state y0");
  else if constexpr (StepController<O>)
    static_assert(
        !StepController<O>,
        "a controller is one of the options of diffeqsolve: write {.controller = PIDController{…}}");
  else
    static_assert(
        std::is_same_v<O, SolveOptions>,
        "the last argument of diffeqsolve must be its options: write {.controller = …, .saveat = …, "
        ".max_steps = …}");
}

}  // namespace detail
}  // namespace apsis
