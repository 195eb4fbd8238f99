#pragma once

// What a transformation can know of a callable without calling it (a generic one is never
// probed: its errors would be hard ones).

#include "apsis/base/loc.hpp"
#include "apsis/tree/check.hpp"

namespace apsis {

namespace detail {

template <class Result, bool constant, class... Argument>
struct Signature {
  using result = Result;
  using arguments = TypeList<Argument...>;
  static constexpr bool is_const = constant;
};

/// Without the place of the call, which nobody passes.
template <class Kept, class... A>
struct DropPlace {
  using type = Kept;
};
template <class... Kept, class First, class... A>
struct DropPlace<TypeList<Kept...>, First, A...>
    : DropPlace<std::conditional_t<std::is_same_v<First, Loc>, TypeList<Kept...>, TypeList<Kept..., First>>,
                A...> {};
template <class R, bool constant, class... A>
struct MemberSignature : Signature<R, constant> {
  using arguments = typename DropPlace<TypeList<>, A...>::type;
};

template <class F>
struct FunctionSignature;
template <class R, class... A>
struct FunctionSignature<R (*)(A...)> : Signature<R, true, A...> {};
template <class R, class... A>
struct FunctionSignature<R (*)(A...) noexcept> : Signature<R, true, A...> {};

#define APSIS_SIGNATURE(constant, ...)    \
  template <class R, class C, class... A> \
  struct FunctionSignature<R (C::*)(A...) __VA_ARGS__> : MemberSignature<R, constant, A...> {};
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
/// A container of floating-point numbers: what others take for an array.
template <class T>
concept NumberContainer = (SequenceLike<T> || ArrayLike<T>)&&std::is_floating_point_v<typename T::value_type>;
template <class... A>
constexpr bool any_number_container(TypeList<A...>) {
  return (NumberContainer<std::remove_cvref_t<A>> || ...);
}
template <class... A>
constexpr bool any_changeable(TypeList<A...>) {
  return ((std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>) || ...);
}

}  // namespace detail

/// The signature of a function pointer, or of a class with one call operator that is no template: its members
/// are `result`, `arguments` (a `TypeList`) and `is_const`. `is_known` is false for generic and overloaded
/// callables.
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
           !detail::any_number_container(arguments) && !detail::any_changeable(arguments);
  } else {
    return !std::is_member_pointer_v<F>;
  }
}

namespace detail {

// Variables, not concepts: why a concept does not hold is printed after the sentence of a static_assert.
/// A callable that takes these arguments.
template <class F, class... A>
inline constexpr bool is_callable_with = std::is_invocable_v<const F&, const A&...>;
/// One whose result is, or converts to, an `R`.
template <class R, class F, class... A>
inline constexpr bool returns_into = false;
template <class R, class F, class... A>
requires is_callable_with<F, A...>
inline constexpr bool returns_into<R, F, A...> =
    std::is_constructible_v<R, std::invoke_result_t<const F&, const A&...>>;
/// One that returns a std::pair.
template <class T>
concept PairLike = requires(const T& result) {
  result.first;
  result.second;
};
template <class F, class... A>
inline constexpr bool returns_pair = false;
template <class F, class... A>
requires is_callable_with<F, A...>
inline constexpr bool returns_pair<F, A...> = PairLike<std::invoke_result_t<const F&, const A&...>>;

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
      !any_number_container(typename callable_traits<F>::arguments{}),
      "a parameter of a transformed callable is a container of numbers: use Array, and pass array(v)");
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
template <class Result>
struct CheckReturn {
  static_assert(
      !std::is_void_v<Result>,
      "a transformed function must return its results: what it writes elsewhere is not transformed");
};
/// Whether arguments of types `A` fit parameters of types `P`; `count_fits` where only their types do not.
template <class Parameters, class... A>
struct FitOf {
  static constexpr bool fits = true, count_fits = true;
};
template <class... P, class... A>
requires(sizeof...(P) != sizeof...(A)) struct FitOf<TypeList<P...>, A...> {
  static constexpr bool fits = false, count_fits = false;
};
template <class... P, class... A>
requires(sizeof...(P) == sizeof...(A)) struct FitOf<TypeList<P...>, A...> {
  static constexpr bool fits = (std::is_convertible_v<const A&, std::decay_t<P>> && ...);
  static constexpr bool count_fits = true;
};
/// Refuses arguments that do not fit.
template <class Fit, class... A>
struct CheckArguments {
  static constexpr bool numbers = (NumberContainer<std::remove_cvref_t<A>> || ...);
  static_assert(Fit::count_fits,
                "a transformed function is called with other arguments than it takes: more, or fewer");
  static_assert(
      !Fit::count_fits || Fit::fits || !numbers,
      "a transformed function is called with other arguments than it takes: a std::vector of numbers "
      "is no Array, write array(v)");
  static_assert(
      !Fit::count_fits || Fit::fits || numbers,
      "a transformed function is called with other arguments than it takes: each must convert to the "
      "type of its parameter");
};

/// The type that a callable with one signature returns, found through what transformations wrapped around it;
/// `Unknown` where it has none.
struct UnknownResult {};
template <class F>
struct KnownResult {
  static constexpr auto find() {
    if constexpr (callable_traits<F>::is_known)
      return std::type_identity<typename callable_traits<F>::result>{};
    else if constexpr (requires { typename F::apsis_callee; })
      return std::type_identity<typename KnownResult<typename F::apsis_callee>::type>{};
    else
      return std::type_identity<UnknownResult>{};
  }
  using type = typename decltype(find())::type;
};
template <class F>
inline constexpr bool returns_nothing = std::is_void_v<typename KnownResult<F>::type>;

/// Whether a call's arguments fit. Asks a generic callable, so for calls that are made only.
template <class F, class... A>
constexpr bool fits_call() {
  if constexpr (is_transformable<F>())
    return is_callable_with<F, A...>;
  else
    return false;
}
template <class F>
constexpr bool count_fits_call(std::size_t count) {
  if constexpr (callable_traits<F>::is_known)
    return callable_traits<F>::arguments::size == count;
  else
    return true;
}
template <class F, class... A>
struct FitOfCall {
  static constexpr bool fits = !is_transformable<F>() || fits_call<F, A...>();
  static constexpr bool count_fits = fits || count_fits_call<F>(sizeof...(A));
};
template <class F, class... A>
struct CheckCall : CheckCallable<F>, CheckArguments<FitOfCall<F, A...>, A...> {};

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
