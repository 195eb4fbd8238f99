#pragma once

// Functions of the host, called from compiled code.
//
//   auto table = pure_callback([](const Array& x) { return lookup(x); }, zeros({3}));   // zeros: like the
//   result Array y = jit([&](const Array& x) { return 2. * table(x); })(x);
//
//   auto note = io_callback([&log](const Array& step, const Array& loss) { log.add(step, loss); });
//   note(i, loss);                                                                      // in a jitted loop
//
// The function gets concrete arrays, and runs outside of every transformation: it may call anything, compiled
// functions too. What it throws is thrown where the program was called. It may be called from another thread
// than the program.

#include "apsis/control/host_function.hpp"
#include "apsis/transform/transformed.hpp"

namespace apsis {

/// How vmap calls a callback, with JAX's names.
enum class VmapMethod : std::uint8_t {
  Sequential,  ///< once for each lane, in the order of the lanes
  ExpandDims,  ///< once, mapped arguments with the lanes along a new axis 0, the others with an axis of size
               ///< 1 there
  BroadcastAll,  ///< once, all arguments with the lanes along a new axis 0
  Refuse         ///< an error
};

/// Options of `pure_callback`.
struct PureCallbackOptions {
  VmapMethod vmap_method = VmapMethod::Sequential;
  /// Shown in printed programs and errors.
  const char* name = "callback";
};

/// Options of `io_callback`.
struct IoCallbackOptions {
  /// Vmap refuses it, and lanes that each run at their own pace, as they have no one order.
  bool ordered = false;
  /// Shown in printed programs and errors.
  const char* name = "callback";
};

namespace detail {

struct CallbackCall {
  HostFunction function;
  std::vector<Array> operands, like;
  const char* name;
  VmapMethod vmap_method = VmapMethod::Sequential;
  bool effect = false, ordered = false;
};
std::vector<Array> callback_call(const CallbackCall& call, Loc loc);

/// The call of `f` on trees: arrays in, declared arrays out.
template <class F, class Like, class... A>
auto call_back(const F& f, std::uint64_t identity, const Like& like, CallbackCall call, Loc loc,
               const A&... args) {
  using Result = std::decay_t<typename CheckedResult<parameters_are_own<F>, F, const A&...>::type>;
  call.function = host_function<Result>(f, identity, like, args...);
  (collect_leaves(args, call.operands), ...);
  if constexpr (std::is_void_v<Result>) {
    callback_call(call, loc);
  } else {
    static_assert(
        std::is_same_v<Result, Like>,
        "the second argument of a callback is like its result: a tree of the type that the function returns, "
        "whose arrays have the shapes and dtypes of the results");
    collect_leaves(like, call.like);
    std::vector<Array> out = callback_call(call, loc);
    return with_leaves(like, out);
  }
}

}  // namespace detail

/// What `pure_callback` returns; see there.
template <class F, class Like>
struct PureCallback : detail::Transformed<PureCallback<F, Like>, F> {
  F f;
  Like like;
  PureCallbackOptions options;
  Loc loc;
  std::uint64_t identity = detail::identity_of<F>();
  PureCallback(F function, Like l, const PureCallbackOptions& o, Loc where)
      : f(static_cast<F&&>(function)), like(static_cast<Like&&>(l)), options(o), loc(where) {}
  template <class... A>
  auto call(const A&... args) const {
    detail::CallbackCall c{{}, {}, {}, options.name, options.vmap_method};
    return detail::call_back(f, identity, like, static_cast<detail::CallbackCall&&>(c), loc, args...);
  }
};

/// `f`, run by the host, in eager and in compiled code. It must be a function of its arguments alone: it is
/// not called if nothing needs its result, and may be called again. `like` is a tree of the type of its
/// result, whose arrays have the result's shapes and dtypes (their elements do not matter). Under vmap see
/// VmapMethod. Not differentiable (throws where a derivative is asked for: see custom_jvp). Throws if the
/// function returns other shapes or dtypes.
template <class F, class Like>
PureCallback<F, Like> pure_callback(F f, Like like, const PureCallbackOptions& options = {},
                                    Loc loc = Loc::here()) {
  return {static_cast<F&&>(f), static_cast<Like&&>(like), options, loc};
}

/// What `io_callback` returns; see there.
template <class F, class Like>
struct IoCallback : detail::Transformed<IoCallback<F, Like>, F> {
  using apsis_effects = void;
  F f;
  Like like;
  IoCallbackOptions options;
  Loc loc;
  std::uint64_t identity = detail::identity_of<F>();
  IoCallback(F function, Like l, const IoCallbackOptions& o, Loc where)
      : f(static_cast<F&&>(function)), like(static_cast<Like&&>(l)), options(o), loc(where) {}
  template <class... A>
  auto call(const A&... args) const {
    detail::CallbackCall c{{}, {}, {}, options.name, VmapMethod::Sequential, true, options.ordered};
    return detail::call_back(f, identity, like, static_cast<detail::CallbackCall&&>(c), loc, args...);
  }
};

/// `f`, run by the host for its effects: exactly once where the program comes by, in program order with all
/// other effects. Under vmap it runs for each lane, lane after lane, if an argument is mapped. Without a
/// result it may stand anywhere in a differentiated function; a result has no derivative (throws where one is
/// asked for). `like`: see pure_callback.
template <class F, class Like>
IoCallback<F, Like> io_callback(F f, Like like, const IoCallbackOptions& options = {},
                                Loc loc = Loc::here()) requires(!std::is_same_v<Like, IoCallbackOptions>) {
  return {static_cast<F&&>(f), static_cast<Like&&>(like), options, loc};
}
/// For functions that return nothing.
template <class F>
IoCallback<F, std::tuple<>> io_callback(F f, const IoCallbackOptions& options = {}, Loc loc = Loc::here()) {
  return {static_cast<F&&>(f), {}, options, loc};
}

}  // namespace apsis
