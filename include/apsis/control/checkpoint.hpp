#pragma once

// Reverse mode that computes again instead of keeping.
//
//   auto layer = checkpoint([](const Linear& l, const Array& x) { return gelu(l(x)); });
//   auto block = checkpoint(f, {.dots = true});                  // keep matrix products, recompute the rest
//   auto named = checkpoint(g, {.names = {"hidden"}});           // keep checkpoint_name(x, "hidden")

#include <string>
#include <string_view>

#include "apsis/transform/transformed.hpp"

namespace apsis {

/// A value that a checkpointed function computes, as a policy sees it.
struct Saveable {
  std::string_view op;    ///< that computes it: "dot_general", "exp", …
  std::string_view name;  ///< given by checkpoint_name, or empty
  const Aval& aval;
};

/// What a checkpointed function keeps for its derivative besides its arguments: each value that one of these
/// asks for. By default nothing is kept.
struct CheckpointOptions {
  /// All that the derivative needs, as if there were no checkpoint.
  bool everything = false;
  /// Results of matrix products and other contractions.
  bool dots = false;
  /// Those without batch axes (products with weights).
  bool dots_without_batch = false;
  /// Values named so by `checkpoint_name`.
  std::vector<std::string> names = {};
  /// Named values, but these; and all values, but those named so. Empty: not asked for.
  std::vector<std::string> names_but = {}, all_but = {};
  /// Values for which this returns true.
  bool (*when)(const Saveable&) = nullptr;
};

namespace detail {
std::vector<Array> checkpoint_call(const Callee& callee, std::span<const Array> leaves,
                                   const CheckpointOptions& options, Loc loc);
}

/// What checkpoint returns; see there.
template <class F>
struct Checkpoint : detail::Transformed<Checkpoint<F>, F> {
  F f;
  CheckpointOptions options;
  Loc loc;
  Checkpoint(F function, CheckpointOptions o, Loc l)
      : f(static_cast<F&&>(function)), options(static_cast<CheckpointOptions&&>(o)), loc(l) {}

  template <class... A>
  auto call(const A&... args) const {
    detail::FlatFunction<F, A...> flat(f, args...);
    return flat.rebuild(detail::checkpoint_call(detail::callee_of(flat), flat.leaves(), options, loc));
  }
};

/// `f`, whose reverse-mode derivative keeps the arguments and what `options` asks for, and computes the rest
/// again: memory for time. The value of `f`, and forward mode, are as before. Inside a transformation `f` is
/// staged; policies see into the jitted functions that it calls, a loop is one op. (JAX: checkpoint, remat;
/// its policies are the options.)
template <class F>
Checkpoint<F> checkpoint(F f, CheckpointOptions options = {}, Loc loc = Loc::here()) {
  return Checkpoint<F>(static_cast<F&&>(f), static_cast<CheckpointOptions&&>(options), loc);
}

template <class... P>
requires detail::TakesPlace<P...>
auto checkpoint(Array (*f)(P...), CheckpointOptions options = {}, Loc loc = Loc::here()) {
  return checkpoint(detail::library_function(f, loc), static_cast<CheckpointOptions&&>(options), loc);
}

/// `x`, under a name that policies of `checkpoint` can ask for. Its derivative has no name.
Array checkpoint_name(const Array& x, std::string name, Loc loc = Loc::here());

}  // namespace apsis
