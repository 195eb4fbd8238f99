#pragma once

// Loops as long as a condition holds. The state is any tree; condition and body may use arrays from outside.
//
//   struct State { Array i, x; };
//   State end = while_loop([](const State& s) { return s.i < 10; },
//                          [&](const State& s) { return State{s.i + 1, a * s.x}; }, State{0, x});

#include "apsis/control/progress.hpp"
#include "apsis/control/run_directly.hpp"

namespace apsis {

/// What derivatives a loop has and what it must declare, with Equinox's names. `Checkpointed` (the default):
/// both modes, and no bound is needed; reverse mode keeps a tape that grows, or as many states as
/// `checkpoints` says. `Bounded`: the same, and max_steps must be given. `Lax`: forward mode only; reverse
/// mode is refused. `Sensitivities`: as Checkpointed, but where at most three real numbers are differentiated
/// by, reverse mode carries the derivatives by each of them along (forward sensitivities) and keeps no tape;
/// `explain` says so. Forward mode goes through all four.
enum class Loop : std::uint8_t { Checkpointed, Bounded, Lax, Sensitivities };

/// Options of `while_loop` and `while_loop_result`.
struct WhileOptions {
  /// More iterations than this are an error, which is thrown before there is a result or a gradient; -1: no
  /// bound (other negative numbers are refused). See while_loop_result for a loop that stops there.
  std::int64_t max_steps = -1;
  Loop kind = Loop::Checkpointed;
  /// Reverse mode keeps no more than this many states, and runs parts of the loop again instead (about 2.5
  /// times as many forward steps for a million iterations and a thousand states). There is room for all of
  /// them, or for max_steps if these are fewer, from the start. 0: it keeps what it needs of every state.
  std::int64_t checkpoints = 0;
  /// The same as a number of bytes for what it needs of these states; at least two are kept, and at most
  /// 16384 of a loop without max_steps. 0: no bound.
  std::int64_t checkpoint_bytes = 0;
  /// When the loop says how far it is, and to whom; by default it does not.
  Progress progress = {};
};

namespace detail {

/// `name`: what users called, as errors say it.
std::vector<Array> while_call(const char* name, const Callee& cond, const Callee& body,
                              std::span<const Array> carry, const WhileOptions& options, Loc loc);
/// Throws if static parts of a carry, or which of its arrays are empty, differ: they are part of the program.
void check_carry_structure(const char* op, ConstTreeRef before, ConstTreeRef after, const char* name,
                           Loc loc);
/// Throws if the options do not go together.
void check_options(const WhileOptions& options, Loc loc);
/// After an iteration of a loop that runs directly. `length`: -1 if it is not known.
void report_directly(const Progress& progress, std::int64_t steps, std::int64_t length, Loc loc);
/// What while_loop_result adds to a loop: whether an iteration is to be made, and how it ended.
Array makes_another(const Array& unfinished, const Array& steps, std::int64_t max_steps);
Array one_more(const Array& steps);
Array how_it_ended(const Array& unfinished);

/// What a loop carries for an initial value of type T: numbers become Arrays.
template <class T>
using carry_t = std::conditional_t<std::is_arithmetic_v<T>, Array, T>;

/// A carry with a count of iterations beside it, which users do not see.
template <class C>
struct WithCount {
  Array count;
  C carry;
};
/// What errors call the carry of a loop; of those that count, the user's part of it.
template <class C>
inline constexpr const char* carry_name = "carry";
template <class C>
inline constexpr const char* carry_name<WithCount<C>> = "";

template <class C>
void check_carry_structure(const char* op, const C& before, const C& after, Loc loc) {
  check_carry_structure(op, tree_ref(before), tree_ref(after), carry_name<C>, loc);
}

}  // namespace detail

namespace detail {

/// while_loop under the name that errors say.
template <class Cond, class Body, class State>
carry_t<State> named_while(const char* name, const Cond& cond, const Body& body, const State& init,
                           const WhileOptions& options, Loc loc) {
  using T = carry_t<State>;
  check_options(options, loc);
  T start = init;
  auto test = [&](const T& state) { return Array(cond(state)); };
  auto step = [&](const T& state) {
    T next(body(state));
    check_carry_structure(name, state, next, loc);
    return next;
  };
  auto report = [&](std::int64_t n) { report_directly(options.progress, n, options.max_steps, loc); };
  if (runs_directly())
    if (std::optional<T> end = while_directly(test, step, start, options.max_steps, report, loc)) return *end;
  FlatFunction<decltype(test), T> flat_test(test, start);
  FlatFunction<decltype(step), T> flat_step(step, start);
  flat_step.name_arguments({carry_name<T>});
  std::vector<Array> end =
      while_call(name, callee_of(flat_test), callee_of(flat_step), flat_step.leaves(), options, loc);
  return with_leaves(start, end);
}

}  // namespace detail

/// Repeats `state = body(state)` as long as `cond(state)`, a boolean scalar, holds. The body returns the
/// state with the same structure, shapes and dtypes (a weakly typed initial state is promoted where the
/// body's result asks for it). Runs compiled, in eager code too. Differentiable both ways (see Loop); under
/// vmap every lane runs at its own pace. Throws if the state changes its structure, shapes or dtypes, or
/// after max_steps iterations.
template <class Cond, class Body, class State>
requires(detail::returns_into<Array, Cond, detail::carry_t<State>>&&
             detail::returns_into<detail::carry_t<State>, Body, detail::carry_t<State>>)
    detail::carry_t<State> while_loop(const Cond& cond, const Body& body, const State& init,
                                      const WhileOptions& options = {}, Loc loc = Loc::here()) {
  return detail::named_while("while_loop", cond, body, init, options, loc);
}

/// Refuses what cannot be called so.
template <class Cond, class Body, class State>
requires(!detail::returns_into<Array, Cond, detail::carry_t<State>> ||
         !detail::returns_into<detail::carry_t<State>, Body, detail::carry_t<State>>)
    detail::carry_t<State> while_loop(const Cond&, const Body&, const State& init, const WhileOptions& = {}) {
  static_assert(detail::is_callable_with<Cond, detail::carry_t<State>>,
                "while_loop calls its condition as cond(state): it must take the type of the initial state");
  static_assert(detail::is_callable_with<Body, detail::carry_t<State>>,
                "while_loop calls its body as body(state): it must take the type of the initial state");
  static_assert(!detail::is_callable_with<Cond, detail::carry_t<State>> ||
                    detail::returns_into<Array, Cond, detail::carry_t<State>>,
                "the condition of while_loop must return a boolean Array");
  static_assert(!detail::is_callable_with<Body, detail::carry_t<State>> ||
                    detail::returns_into<detail::carry_t<State>, Body, detail::carry_t<State>>,
                "the body of while_loop must return the type of its state");
  return init;
}

/// How a loop ended; the numbers are those of SolveResult.
enum class LoopResult : std::int64_t { Successful = 0, MaxStepsReached = 1 };

/// What `while_loop_result` returns.
template <class State>
struct LoopEnd {
  State state;
  Array steps;   ///< i64: iterations made
  Array result;  ///< i64: a LoopResult
};

/// while_loop, but max_steps is where the loop stops: the result says whether it did, under vmap that of each
/// lane. The state, and its gradient, are then those of max_steps iterations.
template <class Cond, class Body, class State>
LoopEnd<detail::carry_t<State>> while_loop_result(const Cond& cond, const Body& body, const State& init,
                                                  const WhileOptions& options = {}, Loc loc = Loc::here()) {
  using T = detail::carry_t<State>;
  using Counting = detail::WithCount<T>;
  Counting end = while_loop(
      [&](const Counting& s) {
        return detail::makes_another(Array(cond(s.carry)), s.count, options.max_steps);
      },
      [&](const Counting& s) {
        return Counting{detail::one_more(s.count), T(body(s.carry))};
      },
      Counting{Array(std::int64_t{0}), T(init)}, options, loc);
  return {end.carry, end.count, detail::how_it_ended(Array(cond(end.carry)))};
}

}  // namespace apsis
