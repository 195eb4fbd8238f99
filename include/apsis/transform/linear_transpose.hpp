#pragma once

// The transpose of a linear function.
//
//   auto transposed = linear_transpose([&](const Array& x) { return matmul(a, x); }, x);
//   Array y = transposed(ct);                            // matmul(transpose(a), ct)

#include "apsis/transform/grad.hpp"

namespace apsis {

namespace detail {

/// The program of a function that is linear in all its leaves. Throws if a leaf is not floating.
LinearProgram linear_program(const Callee& callee, std::span<const Array> leaves, const char* name, Loc loc);

}  // namespace detail

/// What linear_transpose returns: maps a cotangent of the result to those of the arguments.
template <class Result, class... A>
struct LinearTranspose {
  PullBack<Result, A...> pull;
  /// The cotangent of the argument; of several arguments a tuple.
  auto operator()(const Result& cotangent, Loc loc = Loc::here()) const {
    std::tuple<A...> found = pull(cotangent, loc);
    if constexpr (sizeof...(A) == 1)
      return std::get<0>(found);
    else
      return found;
  }
};

namespace detail {
template <class F, class... Args>
auto linear_transpose_at(Loc loc, const F& f, const Args&... args) {
  return [loc](const F& fn, const argument_t<Args>&... a) {
    auto opaque = [&fn](const argument_t<Args>&... x) { return fn(x...); };
    using Flat = FlatFunction<decltype(opaque), argument_t<Args>...>;
    Flat flat(opaque, a...);
    LinearProgram program = linear_program(callee_of(flat), flat.leaves(), "linear_transpose", loc);
    PullBack<typename Flat::Result, argument_t<Args>...> pull{
        program, flat.prototype(), flat.present(), flat.arguments(), {}, 0};
    pull.arguments_present = take_structure(pull.arguments);
    return LinearTranspose<typename Flat::Result, argument_t<Args>...>{pull};
  }(f, args...);
}
}  // namespace detail

/// `linear_transpose(f, args…)`: the transpose of `f`, which must be linear in all its arguments. Only shapes
/// and dtypes of `args` are used. Throws where an array of the arguments is not floating and, when the
/// transpose is called, where `f` has an op that is not linear. (JAX: linear_transpose)
APSIS_TRANSFORM_CALL(linear_transpose)
template <class F, class... Args>
requires detail::RefusedArguments<F, Args...>
auto linear_transpose(const F&, const Args&...) {
  detail::refuse_call<F, detail::argument_t<Args>...>();
  return Array();
}

}  // namespace apsis
