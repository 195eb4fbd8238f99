#pragma once

// What a transformation can know of a callable without calling it (a generic one is never
// probed: its errors would be hard ones).

#include "apsis/tree/check.hpp"

namespace apsis {

namespace detail {

template <class Result, bool constant, class... Argument>
struct Signature {
  using result = Result;
  using arguments = TypeList<Argument...>;
  static constexpr bool is_const = constant;
};

template <class F>
struct FunctionSignature;
template <class R, class... A>
struct FunctionSignature<R (*)(A...)> : Signature<R, true, A...> {};
template <class R, class... A>
struct FunctionSignature<R (*)(A...) noexcept> : Signature<R, true, A...> {};

#define APSIS_SIGNATURE(constant, ...)    \
  template <class R, class C, class... A> \
  struct FunctionSignature<R (C::*)(A...) __VA_ARGS__> : Signature<R, constant, A...> {};
APSIS_SIGNATURE(true, const)
APSIS_SIGNATURE(true, const noexcept)
APSIS_SIGNATURE(true, const&)
APSIS_SIGNATURE(true, const& noexcept)
APSIS_SIGNATURE(false, )
APSIS_SIGNATURE(false, noexcept)
APSIS_SIGNATURE(false, &)
APSIS_SIGNATURE(false, & noexcept)
#undef APSIS_SIGNATURE

template <class F>
concept HasOneCallOperator = requires {
  &F::operator();
};

template <class... A>
constexpr bool any_floating(TypeList<A...>) {
  return (std::is_floating_point_v<std::remove_cvref_t<A>> || ...);
}
template <class... A>
constexpr bool any_changeable(TypeList<A...>) {
  return ((std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>) || ...);
}

}  // namespace detail

/// The signature of a function pointer, or of a class with one call operator that is no template: `::result`,
/// `::arguments` (a `TypeList`), `::is_const`. `is_known` is false for generic and overloaded callables.
template <class F>
struct callable_traits {
  static constexpr bool is_known = false;
};
template <detail::HasOneCallOperator F>
struct callable_traits<F> : detail::FunctionSignature<decltype(&F::operator())> {
  static constexpr bool is_known = true;
};
template <class F>
requires(std::is_pointer_v<F>&& std::is_function_v<std::remove_pointer_t<F>>) struct callable_traits<F>
    : detail::FunctionSignature<F> {
  static constexpr bool is_known = true;
};

/// Whether all that can be seen of `F` fits a transformed callable: a const call operator, no floating-point
/// parameter, none by reference that is not const.
template <class F>
constexpr bool is_transformable() {
  if constexpr (callable_traits<F>::is_known) {
    typename callable_traits<F>::arguments arguments;
    return callable_traits<F>::is_const && !detail::any_floating(arguments) &&
           !detail::any_changeable(arguments);
  } else {
    return !std::is_member_pointer_v<F>;
  }
}

namespace detail {

/// A callable that takes these arguments.
template <class F, class... A>
concept CallableWith = std::is_invocable_v<const F&, const A&...>;
/// One whose result is, or converts to, an `R`.
template <class R, class F, class... A>
concept CallableInto =
    CallableWith<F, A...> && std::is_constructible_v<R, std::invoke_result_t<const F&, const A&...>>;
/// One that returns a std::pair; or two things, in a tuple perhaps.
template <class F, class... A>
concept CallableIntoPair = CallableWith<F, A...> &&
    requires(std::invoke_result_t<const F&, const A&...> result) {
  result.first;
  result.second;
};
template <class F, class... A>
concept CallableIntoTwo =
    CallableWith<F, A...> &&
    std::tuple_size<std::decay_t<std::invoke_result_t<const F&, const A&...>>>::value == 2;

/// Refuses what cannot be transformed, a sentence each.
template <class F, bool known = callable_traits<F>::is_known>
struct CheckCallable {
  static_assert(
      callable_traits<F>::is_const,
      "a transformed callable changes itself: its call operator must be const (a lambda not `mutable`), "
      "because it runs once while it is traced; pass state in and return it");
  static_assert(
      !any_floating(typename callable_traits<F>::arguments{}),
      "a `float` or `double` parameter of a transformed callable: use Array to trace it or Static<double> to "
      "bake it in");
  static_assert(
      !any_changeable(typename callable_traits<F>::arguments{}),
      "a transformed callable takes an argument by a reference that is not const: it gets a copy, whose "
      "changes nobody would see; take it by const reference or by value, and return what changes");
};
template <class F>
struct CheckCallable<F, false> {
  static_assert(!std::is_member_pointer_v<F>,
                "a pointer to a member function as transformed callable: write a lambda, as in "
                "[](const Model& m, const Array& x) { return m.energy(x); }");
};
/// Refuses a call whose arguments do not fit, where that can be told without asking a generic callable.
template <class F, class... A>
struct CheckCall : CheckCallable<F> {
  static_assert(!is_transformable<F>() || !callable_traits<F>::is_known || CallableWith<F, A...>,
                "a transformed function is called with other arguments than it takes: their number and types "
                "must fit its parameters");
};
template <class F, class... A>
constexpr bool fits_call() {
  if constexpr (callable_traits<F>::is_known && is_transformable<F>()) {
    return CallableWith<F, A...>;
  } else {
    return is_transformable<F>();
  }
}

/// For the first line of jit, grad, vmap and their kin.
template <class F>
constexpr void check_callable() {
  (void)sizeof(CheckCallable<F>);
}

/// The type that `f(args...)` returns; some tree if `f` was refused, so that no other errors bury the
/// sentence.
template <bool checked, class F, class... A>
struct CheckedResult : CheckCall<F, A...> {
  using type = int;
};
template <class F, class... A>
requires(fits_call<F, A...>()) struct CheckedResult<true, F, A...> {
  using type = std::invoke_result_t<const F&, A...>;
};
template <class F, class... A>
struct CheckedResult<false, F, A...> {
  using type = std::invoke_result_t<const F&, A...>;
};

}  // namespace detail

}  // namespace apsis
