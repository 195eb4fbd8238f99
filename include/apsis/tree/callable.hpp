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
/// parameter.
template <class F>
constexpr bool is_transformable() {
  if constexpr (callable_traits<F>::is_known) {
    return callable_traits<F>::is_const && !detail::any_floating(typename callable_traits<F>::arguments{});
  } else {
    return true;
  }
}

namespace detail {

/// A callable that takes these arguments.
template <class F, class... A>
concept CallableWith = std::is_invocable_v<const F&, const A&...>;

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
};
template <class F>
struct CheckCallable<F, false> {};

/// For the first line of jit, grad, vmap and their kin.
template <class F>
constexpr void check_callable() {
  (void)sizeof(CheckCallable<F>);
}

/// The type that `f(args...)` returns; some tree if `f` was refused, so that no other errors bury the
/// sentence.
template <bool checked, class F, class... A>
struct CheckedResult : CheckCallable<F> {
  using type = int;
};
template <class F, class... A>
requires(is_transformable<F>()) struct CheckedResult<true, F, A...> {
  using type = std::invoke_result_t<const F&, A...>;
};
template <class F, class... A>
struct CheckedResult<false, F, A...> {
  using type = std::invoke_result_t<const F&, A...>;
};

}  // namespace detail

}  // namespace apsis
