#pragma once

// What rules of the user's own must take and return, and the sentences for those that do not.

#include <cstdint>

#include "apsis/transform/function.hpp"

namespace apsis::detail {

/// One argument stands for itself, several are a tuple.
template <class... A>
struct Bundle {
  using type = std::tuple<A...>;
};
template <class A>
struct Bundle<A> {
  using type = A;
};
/// Whether `T` is a pair whose first part is, or converts to, an `R`; and its second to an `S`.
template <class T, class R, class S>
inline constexpr bool is_pair_of = false;
template <class T, class R, class S>
requires(std::tuple_size<T>::value == 2) inline constexpr bool is_pair_of<T, R, S> =
    std::is_convertible_v<std::tuple_element_t<0, T>, R> &&
    std::is_convertible_v<std::tuple_element_t<1, T>, S>;
/// What a rule returns; void where it cannot be called so.
template <class Rule, class... A>
struct RuleResult {
  using type = void;
};
template <class Rule, class... A>
requires is_callable_with<Rule, A...>
struct RuleResult<Rule, A...> {
  using type = std::decay_t<std::invoke_result_t<const Rule&, const A&...>>;
};
template <class Rule, class... A>
using rule_result_t = typename RuleResult<Rule, A...>::type;

// What is asked of rules, for a function that returns `R` for arguments `A`: `fit`, and, where they do not, a
// sentence each in `Refused`.
template <class Rule, class R, class... A>
struct JvpRuleFit {
  using B = typename Bundle<A...>::type;
  static constexpr bool called = is_callable_with<Rule, B, B>;
  static constexpr bool fit = is_pair_of<rule_result_t<Rule, B, B>, R, R>;
  struct Refused {
    static_assert(
        called,
        "the rule of custom_jvp is called as rule(x, dx); where the function has several arguments, both are "
        "tuples of them: rule(const std::tuple<Array, Array>&, const std::tuple<Array, Array>&)");
    static_assert(
        !called || fit,
        "the rule of custom_jvp must return the pair of the function's result and its tangent, both "
        "of the type that the function returns");
  };
};

struct AnyPart {
  template <class T>
  AnyPart(const T&) {}
};
template <bool symbolic, class Rule, class... A>
struct ForwardRuleCall : RuleResult<Rule, A...> {
  static constexpr bool called = is_callable_with<Rule, A...>;
};
template <class Rule, class... A>
struct ForwardRuleCall<true, Rule, A...> : RuleResult<Rule, typename Bundle<A...>::type, A...> {
  static constexpr bool called = is_callable_with<Rule, typename Bundle<A...>::type, A...>;
};
template <class Result>
struct ResidualsOf {
  using type = Array;
};
template <class Result>
requires(std::tuple_size<Result>::value == 2) struct ResidualsOf<Result> {
  using type = std::decay_t<std::tuple_element_t<1, Result>>;
};
template <class Forward, class Backward, bool symbolic, class R, class... A>
struct VjpRuleFit {
  using B = typename Bundle<A...>::type;
  using ForwardCall = ForwardRuleCall<symbolic, Forward, A...>;
  using Residuals = typename ResidualsOf<typename ForwardCall::type>::type;
  static constexpr bool called = ForwardCall::called;
  static constexpr bool forward_fits = is_pair_of<typename ForwardCall::type, R, AnyPart>;
  static constexpr bool is_called_back() {
    if constexpr (symbolic)
      return is_callable_with<Backward, B, Residuals, R>;
    else
      return is_callable_with<Backward, Residuals, R>;
  }
  static constexpr bool fits_back() {
    if constexpr (symbolic)
      return std::is_convertible_v<rule_result_t<Backward, B, Residuals, R>, B>;
    else
      return std::is_convertible_v<rule_result_t<Backward, Residuals, R>, B>;
  }
  static constexpr bool find_fit() {
    if constexpr (forward_fits)
      return fits_back();
    else
      return false;
  }
  static constexpr bool fit = find_fit();
  struct Refused {
    static_assert(
        called || symbolic,
        "the forward rule of custom_vjp is called as forward(args...): it must take the arguments of "
        "the function");
    static_assert(called || !symbolic,
                  "the forward rule of custom_vjp with symbolic_zeros is called as forward(perturbed, "
                  "args...): it must take what tells which inputs are differentiated, of the arguments' type "
                  "(of several, their tuple), and then the arguments");
    static_assert(
        !called || forward_fits,
        "the forward rule of custom_vjp must return the pair of the function's result and the residuals");
    static_assert(
        !forward_fits || is_called_back(),
        "the backward rule of custom_vjp is called as backward(residuals, cotangent), with symbolic_zeros as "
        "backward(perturbed, residuals, cotangent): the residuals are what the forward rule returned, the "
        "cotangent has the type of the function's result");
    static_assert(
        !forward_fits || !is_called_back() || fit,
        "the backward rule of custom_vjp must return the cotangent of the argument; of several arguments, a "
        "std::tuple of their cotangents (`Array()` for none)");
  };
};

template <class Rule, class R, class... A>
struct BatchRuleFit {
  using B = typename Bundle<A...>::type;
  static constexpr bool called = is_callable_with<Rule, std::int64_t, B, A...>;
  static constexpr bool fit = std::is_convertible_v<rule_result_t<Rule, std::int64_t, B, A...>, R>;
  struct Refused {
    static_assert(
        called,
        "the rule of custom_batch is called as rule(lanes, mapped, args...): it must take a std::int64_t, "
        "what "
        "tells which arguments are mapped, of the arguments' type (of several, their tuple), and then the "
        "arguments");
    static_assert(!called || fit, "the rule of custom_batch must return the type that the function returns");
  };
};

}  // namespace apsis::detail
