#pragma once

// Functions of time and state without their types: conditions and changes of events, and what is saved.

#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "apsis/core/array.hpp"
#include "apsis/transform/function.hpp"
#include "apsis/tree/callable.hpp"
#include "apsis/tree/type.hpp"

namespace apsis {

namespace detail {

/// What events take as function: a class with a call operator, or a pointer.
template <class F>
inline constexpr bool is_function_object = std::is_class_v<F> || std::is_function_v<std::remove_pointer_t<F>>;

/// The type of state that a function (t, y) takes; void where that cannot be seen.
template <class... A>
struct StateArgument {
  using type = void;
};
template <class T, class Y>
struct StateArgument<TypeList<T, Y>> {
  using type = std::conditional_t<std::is_convertible_v<const Array&, T>, std::remove_cvref_t<Y>, void>;
};
template <class F, bool known = callable_traits<F>::is_known>
struct StateOf {
  using type = void;
};
template <class F>
struct StateOf<F, true> : StateArgument<typename callable_traits<F>::arguments> {};

/// Refuses functions that are not called with time and state.
template <class F>
constexpr bool takes_time_and_state() {
  constexpr bool known = callable_traits<F>::is_known, fits = !std::is_void_v<typename StateOf<F>::type>;
  static_assert(known,
                "the condition or the change of an event must say the types of its parameters, not auto: "
                "[](const Array& t, const State& y) { … }, State being the type of y0");
  static_assert(!known || fits,
                "the condition or the change of an event is called with (t, y): it must take the time, an "
                "Array, and the type of the state y0");
  return fits;
}

/// A function of the time and the leaves of a state, held by value.
class StateFunction {
 public:
  StateFunction() = default;
  template <class State, class F>
  static StateFunction of(F f) {
    StateFunction s;
    s.state_ = &tree_type<State>;
    s.held_ = std::make_shared<const F>(static_cast<F&&>(f));
    s.run_ = [](const void* self, const void* like, const Array& t, std::span<const Array> y) {
      const auto result = (*static_cast<const F*>(self))(t, with_leaves(*static_cast<const State*>(like), y));
      std::vector<Array> leaves;
      collect_leaves(result, leaves);
      return leaves;
    };
    return s;
  }
  bool is_set() const { return held_ != nullptr; }
  const TreeType* state() const { return state_; }
  /// `like`: a state of the type `state()`.
  std::vector<Array> operator()(const void* like, const Array& t, std::span<const Array> y) const {
    return run_(held_.get(), like, t, y);
  }

 private:
  const TreeType* state_ = nullptr;
  std::shared_ptr<const void> held_;
  std::vector<Array> (*run_)(const void*, const void*, const Array&, std::span<const Array>) = nullptr;
};

}  // namespace detail

}  // namespace apsis
