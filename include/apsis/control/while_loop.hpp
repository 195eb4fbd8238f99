#pragma once

// Loops as long as a condition holds. The state is any tree; condition and body may use arrays from outside.
//
//   struct State { Array i, x; };
//   State end = while_loop([](const State& s) { return s.i < 10; },
//                          [&](const State& s) { return State{s.i + 1, a * s.x}; }, State{0, x});

#include "apsis/control/run_directly.hpp"

namespace apsis {

/// How reverse mode goes through a loop: `Checkpointed` (the default) keeps a tape that grows; `Bounded` also
/// demands max_steps; `Lax` refuses reverse mode and keeps nothing.
enum class Loop : std::uint8_t { Checkpointed, Bounded, Lax };

struct WhileOptions {
  /// More iterations than this are an error; -1: no bound.
  std::int64_t max_steps = -1;
  Loop kind = Loop::Checkpointed;
  /// Reverse mode keeps no more than this many states, and runs parts of the loop again instead (about 2.5 times as
  /// many forward steps for a million iterations and a thousand states). 0: it keeps what it needs of every state.
  std::int64_t checkpoints = 0;
  /// The same as a number of bytes for the states; 0: no bound.
  std::int64_t checkpoint_bytes = 0;
};

namespace detail {

std::vector<Array> while_call(const Callee& cond, const Callee& body, std::span<const Array> carry,
                              const WhileOptions& options, Loc loc);
[[noreturn]] void fail_static_carry(const char* op, Loc loc);

/// What a loop carries for an initial value of type T: numbers become Arrays.
template <class T>
using carry_t = std::conditional_t<std::is_arithmetic_v<T>, Array, T>;

/// Static parts and empty leaves of a carry must stay as they are: they are part of the program.
template <class T, class R>
void check_same_structure(const char* op, const T& before, const R& after, const std::vector<bool>& present,
                          Loc loc) {
  static_assert(std::is_same_v<T, R>, "the body of a loop must return the type of its carry");
  std::size_t place = 0;
  bool same = true;
  for_each_leaf(before, [&](const Array& a) {
    same = same && place < present.size() && present[place++] == !a.is_empty();
  });
  StaticKey a, b;
  append_static_key(before, a);
  append_static_key(after, b);
  if (!same || place != present.size() || !(a == b)) fail_static_carry(op, loc);
}

}  // namespace detail

/// Repeats `state = body(state)` as long as `cond(state)`, a boolean scalar, holds. The body returns the
/// state with the same structure, shapes and dtypes (a weakly typed initial state is promoted where the
/// body's result asks for it). Runs compiled, in eager code too. Differentiable both ways (see Loop); under
/// vmap every lane runs at its own pace. Throws if the state changes its structure, shapes or dtypes, or
/// after max_steps iterations.
template <class Cond, class Body, class State>
detail::carry_t<State> while_loop(const Cond& cond, const Body& body, const State& init,
                                  const WhileOptions& options = {}, Loc loc = Loc::here()) {
  using T = detail::carry_t<State>;
  T start = init;
  auto test = [&](const T& state) { return Array(cond(state)); };
  auto step = [&](const T& state) { return T(body(state)); };
  if (detail::runs_directly())
    if (std::optional<T> end = detail::while_directly(test, step, start, options.max_steps, loc)) return *end;
  detail::FlatFunction<decltype(test), T> flat_test(test, start);
  detail::FlatFunction<decltype(step), T> flat_step(step, start);
  flat_step.name_arguments({"carry"});
  std::vector<Array> end = detail::while_call(detail::callee_of(flat_test), detail::callee_of(flat_step),
                                              flat_step.leaves(), options, loc);
  detail::check_same_structure("while_loop", start, flat_step.prototype(), flat_step.present(), loc);
  return detail::with_leaves(start, end);
}

}  // namespace apsis
