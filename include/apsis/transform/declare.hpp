#pragma once

// How transformations declare their functions: with the place of the call, for any number of arguments, and
// with one sentence for what they refuse.

#include "apsis/base/with_place.hpp"
#include "apsis/transform/transformed.hpp"

namespace apsis::detail {

template <class F, class... Args>
concept RefusedArguments = RefusedCall<F, argument_t<Args>...>;

/// For what is refused, so that no other errors bury the sentence.
struct RefusedFunction {
  Array operator()(const auto&...) const { return {}; }
};
template <class A>
struct CheckFunctionAlone {
  static_assert(std::is_void_v<A>,
                "a transformation takes the function and returns one, which takes the arguments: write "
                "grad(f)(x), jit(f)(x), vmap(f)(x); the gradient by the second argument is grad<1>(f)");
};

}  // namespace apsis::detail

/// Refuses `name(f, x)`, where `x` is none of the options.
#define APSIS_REFUSE_ARGUMENTS(name, Options)                                                      \
  template <std::size_t... N, class F, class A, class... B>                                        \
  requires(!std::is_convertible_v<const A&, Options>) auto name(const F&, const A&, const B&...) { \
    (void)sizeof(detail::CheckFunctionAlone<A>);                                                   \
    return detail::RefusedFunction();                                                              \
  }

/// Declares `name(f, args…)`, a transformation of one call, as `detail::name_at(place, f, args…)`; see
/// base/with_place.hpp. What is refused has an overload written out beside it: compilers print how a macro
/// was expanded, line by line, after the sentence.
#define APSIS_TRANSFORM_CALL(name)                                                                        \
  APSIS_UP_TO_SIX(APSIS_TRANSFORM_PLACED, name)                                                           \
  template <class F, class... Args>                                                                       \
  requires(sizeof...(Args) > 6 && !detail::RefusedArguments<F, Args...>) auto name(const F& f,            \
                                                                                   const Args&... args) { \
    return detail::name##_at({"", #name}, f, args...);                                                    \
  }
#define APSIS_TRANSFORM_PLACED(name, declared, types, parameters, arguments)              \
  template <class F APSIS_LIST declared>                                                  \
  requires(!detail::RefusedArguments<F APSIS_LIST types>) auto name(                      \
      const F& f, APSIS_LIST parameters Loc loc = Loc::here()) {                          \
    return detail::name##_at(loc, f APSIS_LIST arguments);                                \
  }                                                                                       \
  template <class... P APSIS_LIST declared>                                               \
  requires detail::TakesPlace<P...>                                                       \
  auto name(Array (*f)(P...), APSIS_LIST parameters Loc loc = Loc::here()) {              \
    return detail::name##_at(loc, detail::library_function(f, loc) APSIS_LIST arguments); \
  }
