#pragma once

// Events: what happens in a solve where a condition says so. It ends there, or goes on with another state.
//
//   // ends where the height becomes negative
//   Event{[](const Array&, const Ball& y) { return y.height; }}
//   // bounces there, and ends with the tenth bounce
//   Event{.condition = height, .direction = Crossing::Down, .change = bounce, .stop_after = 10}
//   // ends where the slope has become small
//   Event{SteadyState{}}

#include <cstdint>

#include "apsis/diffeq/state_function.hpp"

namespace apsis {

/// Which changes of sign count, as the solve goes along (in a solve that goes back, back in time).
enum class Crossing : std::uint8_t {
  Either,
  Up,   ///< from below 0 to above
  Down  ///< from above 0 to below
};

/// A condition that holds where the slope is small: its norm (root mean square over all elements) is below
/// atol + rtol times that of the state. Empty: the tolerances of the controller. Looked at at the ends of
/// steps, and the time is that end; no derivative goes through it.
struct SteadyState {
  Array rtol = {}, atol = {};
};

/// Holds the condition of an event: a function of the time, an Array, and the state, which returns a real
/// scalar (the event occurs where its sign changes) or a boolean (where it becomes true), or a SteadyState.
/// What it captures, or its fields, are parameters of the solve.
class EventCondition {
 public:
  EventCondition() = default;
  EventCondition(SteadyState steady) : steady_(static_cast<SteadyState&&>(steady)), is_steady_(true) {}
  template <class F>
  requires(!std::is_same_v<F, EventCondition> && detail::is_function_object<F>) EventCondition(F f) {
    using State = typename detail::StateOf<F>::type;
    if constexpr (detail::takes_time_and_state<F>()) {
      constexpr bool array =
          std::is_convertible_v<decltype(std::declval<const F&>()(Array(), std::declval<State>())), Array>;
      static_assert(array,
                    "the condition of an event must return a scalar Array: a real number whose sign changes, "
                    "or a boolean");
      if constexpr (array) {
        auto call = [f = static_cast<F&&>(f)](const Array& t, const State& y) { return Array(f(t, y)); };
        function_ = detail::StateFunction::of<State>(static_cast<decltype(call)&&>(call));
      }
    }
  }
  bool is_set() const { return is_steady_ || function_.is_set(); }
  /// A SteadyState, or null.
  const SteadyState* steady() const { return is_steady_ ? &steady_ : nullptr; }
  const detail::StateFunction& function() const { return function_; }

 private:
  detail::StateFunction function_;
  SteadyState steady_;
  bool is_steady_ = false;
};

/// Holds what an event makes of the state: a function of the time and the state there that returns the state
/// from which the solve goes on.
class EventChange {
 public:
  EventChange() = default;
  template <class F>
  requires(!std::is_same_v<F, EventChange> && detail::is_function_object<F>) EventChange(F f) {
    using State = typename detail::StateOf<F>::type;
    if constexpr (detail::takes_time_and_state<F>()) {
      constexpr bool same = std::is_convertible_v<typename callable_traits<F>::result, State>;
      static_assert(same, "the change of an event must return a state, of the type that it takes");
      if constexpr (same) {
        auto call = [f = static_cast<F&&>(f)](const Array& t, const State& y) { return State(f(t, y)); };
        function_ = detail::StateFunction::of<State>(static_cast<decltype(call)&&>(call));
      }
    }
  }
  const detail::StateFunction& function() const { return function_; }
  bool is_set() const { return function_.is_set(); }

 private:
  detail::StateFunction function_;
};

/// An event of a solve: where it occurs, and what happens then.
///
/// Conditions are looked at within each accepted step, by its dense output, at four points and where their
/// slopes say that two crossings may lie between; the first crossing counts, of several events too, and is
/// located by bracketing. Derivatives go through its time: that of the implicit equation condition = 0 (of a
/// boolean none). A zero at t0, or at the time of a change, is no crossing. A boolean that holds at t0 occurs
/// there.
struct Event {
  EventCondition condition;
  Crossing direction = Crossing::Either;  ///< of a condition whose sign changes
  /// The state from which the solve goes on; without it the state stays as it is.
  EventChange change = {};
  /// The solve ends at this occurrence, whose change is not made; 0: never; -1: at the first, or never where
  /// there is a change.
  std::int64_t stop_after = -1;
  /// How exactly the time is located; 0, or less than rounding: up to rounding.
  double tolerance = 0;
};

/// What occurred in a solve with events; empty of one without.
template <class Y>
struct Occurrences {
  Array mask;    ///< bool [events]: which of them ended the solve, one at most
  Array counts;  ///< i64 [events]: how often each occurred
  /// The first saveat.events occurrences: times, numbers of the events (i64), and the states before their
  /// changes. Rows that are not used are +inf, of `which` -1. Empty where saveat.events is 0.
  Array ts, which;
  Y ys;
};

}  // namespace apsis
