#pragma once

// What jit, grad, vmap and their kin return: a callable that checks its arguments near the user's line, and
// calls what the transformation made.

#include "apsis/transform/function.hpp"

namespace apsis::detail {

template <class F>
struct ParametersOf {
  static constexpr auto find() {
    if constexpr (requires { typename F::apsis_parameters; })
      return std::type_identity<typename F::apsis_parameters>{};
    else if constexpr (callable_traits<F>::is_known)
      return std::type_identity<typename callable_traits<F>::arguments>{};
    else
      return std::type_identity<void>{};
  }
  using type = typename decltype(find())::type;
};
/// The parameters of a callable that has one signature, as a TypeList; else void.
template <class F>
using parameters_of = typename ParametersOf<F>::type;

/// What rules of the user's own must be like (see custom.hpp), of `Derived` or of what it was made from: its
/// `fit`, and a sentence each in `Refused`.
struct NoRules {
  static constexpr bool fit = true;
};
template <class Derived, class F, class... A>
struct FindRules {
  using type = NoRules;
};
template <class Derived, class F, class... A>
requires requires { typename Derived::template Fit<Array>; }
struct FindRules<Derived, F, A...> {
  using type =
      typename Derived::template Fit<std::decay_t<std::invoke_result_t<const F&, const A&...>>, A...>;
};
template <class Derived, class F, class... A>
requires(requires { typename F::apsis_callee; } &&
         !FindRules<F, typename F::apsis_callee, A...>::type::fit) struct FindRules<Derived, F, A...>
    : FindRules<F, typename F::apsis_callee, A...> {
};
template <class Derived, class F, class... A>
using RulesOf = typename FindRules<Derived, F, A...>::type;

/// Callables for their effects alone may return nothing.
template <class Derived>
inline constexpr bool may_return_nothing = requires {
  typename Derived::apsis_effects;
};
/// A generic callable that returns nothing when it is called so.
template <class F, class... A>
inline constexpr bool gives_nothing = false;
template <class F, class... A>
requires is_callable_with<F, A...>
inline constexpr bool gives_nothing<F, A...> = std::is_void_v<std::invoke_result_t<const F&, const A&...>>;
/// Refuses numbers that are no Array, for callables that take any arguments.
template <class... A>
struct CheckNumbers {
  static_assert(
      !(NumberContainer<A> || ...),
      "a std::vector of numbers among the arguments of a transformed function: write array(v), which "
      "makes an Array of it");
};

/// Whether a call f(args…) is refused for what is known of `F` without calling it.
template <class Function, class... A>
constexpr bool is_refused_call() {
  using F = std::decay_t<Function>;
  if constexpr (!is_transformable<F>() || returns_nothing<F>)
    return true;
  else if constexpr (!(NumberContainer<A> || ...) && !(is_admitted_tree<A> && ...))
    return true;
  else if constexpr (std::is_void_v<parameters_of<F>>)
    return (NumberContainer<A> || ...);
  else if constexpr (parameters_are_own<F>)
    return !fits_call<F, A...>();
  else
    return !FitOf<parameters_of<F>, A...>::fits;
}
template <class F, class... A>
concept RefusedCall = is_refused_call<F, A...>();
/// The sentence for it.
template <class Function, class... A>
constexpr void refuse_call() {
  using F = std::decay_t<Function>;
  (void)sizeof(CheckCallable<F>);
  (void)sizeof(CheckReturn<typename KnownResult<F>::type>);
  if constexpr (!is_transformable<F>() || returns_nothing<F>)
    return;
  else if constexpr (!(NumberContainer<A> || ...) && !(is_admitted_tree<A> && ...))
    (void)sizeof(first_refusal_of<A...>);
  else if constexpr (std::is_void_v<parameters_of<F>>)
    (void)sizeof(CheckNumbers<A...>);
  else if constexpr (parameters_are_own<F>)
    (void)sizeof(CheckArguments<FitOfCall<F, A...>, A...>);
  else
    (void)sizeof(CheckArguments<FitOf<parameters_of<F>, A...>, A...>);
}

/// How many arguments a call must have so that it has these.
constexpr std::size_t count_from(auto... number) {
  std::size_t count = 0;
  for (std::size_t n : {std::size_t{number}...}) count = count > n ? count : n + 1;
  return count;
}
/// Whether a transformation is asked for an argument that a call does not have.
template <class Derived>
constexpr bool lacks_argument(std::size_t count) {
  if constexpr (requires { Derived::apsis_arguments; })
    return count < Derived::apsis_arguments;
  else
    return false;
}
template <class Derived, std::size_t count>
struct CheckArgumentNumbers {
  static_assert(!lacks_argument<Derived>(count),
                "a derivative by an argument that the call does not have: arguments are numbered from 0, so "
                "grad<1>(f) is by the second");
};
/// Where the user made a callable, for errors of its arguments.
template <class Derived>
Loc place_of(const Derived& callable) {
  if constexpr (requires { callable.loc; })
    return callable.loc;
  else if constexpr (requires { callable.core().place(); })
    return callable.core().place();
  else if constexpr (requires { callable.inner.loc; })
    return callable.inner.loc;
  else
    return {};
}
/// `body()`; trees that are nested too deeply are refused with the place of `callable`.
template <class Derived, class Body>
[[gnu::always_inline]] inline auto with_place_of(const Derived& callable, const Body& body) {
  try {
    return body();
  } catch (const NestingError& error) {
    error.rethrow_at(place_of(callable));
  }
}
template <class... A>
inline constexpr bool may_nest = ((count_leaves<std::decay_t<A>>() < 0) || ...);
/// The call itself.
template <class Derived, class... A>
[[gnu::always_inline]] inline auto call_derived(const Derived& callable, const A&... args) {
  if constexpr (may_nest<A...>)
    return with_place_of(callable, [&] { return callable.call(args...); });
  else
    return callable.call(args...);
}

/// Base of the callables that transformations return. If F has one known signature so has the result: braces
/// work at the call, errors are short, and an arithmetic argument at an Array parameter is dynamic. Otherwise
/// any arguments are taken.
template <class Derived, class F, class Parameters = parameters_of<F>>
struct Transformed;

template <class Derived, class F, class... P>
struct Transformed<Derived, F, TypeList<P...>> {
  using apsis_callee = F;
  using apsis_parameters = TypeList<P...>;
  // What can be refused is refused here, near the user's line: compilers print the whole way to a sentence.
  auto operator()(const std::decay_t<P>&... args) const {
    if constexpr (!is_transformable<F>()) {
      (void)sizeof(CheckCallable<F>);
      return Array();
    } else if constexpr (!(is_admitted_tree<std::decay_t<P>> && ...)) {
      (void)sizeof(first_refusal_of<std::decay_t<P>...>);
      return Array();
    } else if constexpr (lacks_argument<Derived>(sizeof...(P))) {
      (void)sizeof(CheckArgumentNumbers<Derived, sizeof...(P)>);
      return Array();
    } else if constexpr (!returns_nothing<F> || may_return_nothing<Derived>) {
      if constexpr (RulesOf<Derived, F, std::decay_t<P>...>::fit) {
        return call_derived(*static_cast<const Derived*>(this), args...);
      } else {
        (void)sizeof(typename RulesOf<Derived, F, std::decay_t<P>...>::Refused);
        return Array();
      }
    } else {
      (void)sizeof(CheckReturn<typename KnownResult<F>::type>);
      return Array();
    }
  }
  template <class... A>
  requires(!FitOf<TypeList<P...>, A...>::fits) Array operator()(const A&...) const {
    (void)sizeof(CheckArguments<FitOf<TypeList<P...>, A...>, A...>);
    return {};
  }
};
template <class Derived, class F>
struct Transformed<Derived, F, void> {
  using apsis_callee = F;
  template <class... A>
  auto operator()(const A&... args) const {
    if constexpr (!is_transformable<F>()) {
      (void)sizeof(CheckCallable<F>);
      return Array();
    } else if constexpr ((NumberContainer<A> || ...)) {
      (void)sizeof(CheckNumbers<A...>);
      return Array();
    } else if constexpr (!(is_admitted_tree<argument_t<A>> && ...)) {
      (void)sizeof(first_refusal_of<argument_t<A>...>);
      return Array();
    } else if constexpr (lacks_argument<Derived>(sizeof...(A))) {
      (void)sizeof(CheckArgumentNumbers<Derived, sizeof...(A)>);
      return Array();
    } else if constexpr (!is_callable_with<F, argument_t<A>...>) {
      (void)sizeof(CheckArguments<FitOfCall<F, argument_t<A>...>, argument_t<A>...>);
      return Array();
    } else if constexpr (!may_return_nothing<Derived> && gives_nothing<F, argument_t<A>...>) {
      (void)sizeof(CheckReturn<std::invoke_result_t<const F&, const argument_t<A>&...>>);
      return Array();
    } else if constexpr (RulesOf<Derived, F, argument_t<A>...>::fit) {
      const Derived& callable = *static_cast<const Derived*>(this);
      if constexpr (may_nest<argument_t<A>...>)
        return with_place_of(callable, [&] { return callable.template call<argument_t<A>...>(args...); });
      else
        return callable.template call<argument_t<A>...>(args...);
    } else {
      (void)sizeof(typename RulesOf<Derived, F, argument_t<A>...>::Refused);
      return Array();
    }
  }
};

}  // namespace apsis::detail
