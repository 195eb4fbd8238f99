#pragma once

// Branches that depend on traced values.
//
//   Array y = cond(x > 0., [](const Array& v) { return log(v); }, [](const Array& v) { return -v; }, x);
//   Array z = switch_(k, std::tuple{f, g, h}, x);

#include "apsis/control/while_loop.hpp"

namespace apsis {

namespace detail {

std::vector<Array> cond_call(const Array& index, std::span<const Callee> branches,
                             std::span<const Array> operands, const char* name, Loc loc);
/// A boolean scalar as branch number: true → 0, false → 1. Throws for anything else.
Array branch_of(const Array& predicate, Loc loc);
Array branch_index(const Array& index, Loc loc);
[[noreturn]] void fail_branch_structure(const char* op, Loc loc);
[[noreturn]] void fail_no_branches(const char* op, Loc loc);

/// What a branch returns inside the program: a number is an Array.
template <class R>
using branch_t = std::conditional_t<std::is_arithmetic_v<R> || StaticScalar<R>, Array, R>;
template <class F, class... A>
using branch_result_t =
    branch_t<std::decay_t<std::invoke_result_t<const std::remove_cvref_t<F>&, const A&...>>>;

/// Whether all branches can be called so, and return the same type.
template <class Branches, class... A>
inline constexpr bool are_branches = false;
template <class First, class... F, class... A>
requires(is_callable_with<First, A...> &&
         (is_callable_with<F, A...> &&
          ...)) inline constexpr bool are_branches<std::tuple<First, F...>, A...> =
    !std::is_void_v<branch_result_t<First, A...>> &&
    (std::is_same_v<branch_result_t<First, A...>, branch_result_t<F, A...>> && ...);

/// A branch whose result is of type `R`.
template <class R, class F>
auto branch_of_type(const F& f) {
  return [&f](const auto&... a) { return R(f(a...)); };
}

/// Throws where branches differ in what is static in their results, or in which of their leaves are there.
template <class First, class Other>
void check_branch(const First& first, const Other& other, const char* name, Loc loc) {
  StaticKey expected, found;
  append_static_key(first.prototype(), expected);
  append_static_key(other.prototype(), found);
  if (!(expected == found) || other.present() != first.present()) fail_branch_structure(name, loc);
}

template <class... F, std::size_t... I, class... A>
requires(are_branches<std::tuple<F...>, A...>) auto branch_call(const Array& index,
                                                                const std::tuple<F...>& branches,
                                                                std::index_sequence<I...>, const char* name,
                                                                Loc loc, const A&... args) {
  using R = branch_result_t<std::tuple_element_t<0, std::tuple<F...>>, A...>;
  if (std::optional<std::size_t> chosen = branch_to_run(index, sizeof...(F))) {
    std::optional<R> result;
    ((*chosen == I ? (void)result.emplace(std::get<I>(branches)(args...)) : (void)0), ...);
    return *result;
  }
  auto opaque = std::tuple(branch_of_type<R>(std::get<I>(branches))...);
  auto flats = std::tuple(
      FlatFunction<std::tuple_element_t<I, decltype(opaque)>, A...>(std::get<I>(opaque), args...)...);
  Callee callees[] = {callee_of(std::get<I>(flats))...};
  const auto& first = std::get<0>(flats);
  std::vector<Array> out = cond_call(index, callees, first.leaves(), name, loc);
  (check_branch(first, std::get<I>(flats), name, loc), ...);
  return first.rebuild(out);
}

/// The same for branches of one type.
template <class F, class... A>
auto branch_call(const Array& index, const std::vector<F>& branches, const char* name, Loc loc,
                 const A&... args) {
  using R = branch_result_t<F, A...>;
  if (branches.empty()) fail_no_branches(name, loc);
  if (std::optional<std::size_t> chosen = branch_to_run(index, branches.size()))
    return R(branches[*chosen](args...));
  using Opaque = decltype(branch_of_type<R>(branches[0]));
  std::vector<FlatFunction<Opaque, A...>> flats;
  std::vector<Callee> callees;
  for (const F& f : branches) flats.emplace_back(branch_of_type<R>(f), args...);
  for (auto& flat : flats) callees.push_back(callee_of(flat));
  std::vector<Array> out = cond_call(index, callees, flats[0].leaves(), name, loc);
  for (const auto& flat : flats) check_branch(flats[0], flat, name, loc);
  return flats[0].rebuild(out);
}

/// Refuses branches, a sentence each.
template <class Branches, class... A>
struct CheckBranches;
template <class... F, class... A>
struct CheckBranches<std::tuple<F...>, A...> {
  static constexpr bool called = (is_callable_with<F, A...> && ...);
  static constexpr bool find_nothing() {
    if constexpr (called)
      return (std::is_void_v<branch_result_t<F, A...>> || ...);
    else
      return false;
  }
  static_assert(
      called,
      "cond and switch_ call their branches with the operands that follow them: each branch must take "
      "all of these, by their types");
  static_assert(!find_nothing(), "each branch must return its results: what it writes elsewhere is not seen");
  static_assert(!called || find_nothing() || are_branches<std::tuple<F...>, A...>,
                "all branches must return the same type (numbers count as Arrays)");
};

}  // namespace detail

/// `if_true(args…)` or `if_false(args…)`, by a boolean scalar. Both are traced, one is run (under vmap with a
/// mapped predicate both run, and a NaN of the one not taken does not reach a derivative). Both return the
/// same structure, shapes and dtypes; throws otherwise.
template <class T, class F, class... Args>
requires(detail::are_branches<std::tuple<T, F>, detail::argument_t<Args>...>) auto cond(
    const Operand& predicate, const T& if_true, const F& if_false, const Args&... args) {
  return detail::branch_call(detail::branch_of(predicate.array, predicate.loc), std::tie(if_true, if_false),
                             std::make_index_sequence<2>{}, "cond", predicate.loc,
                             detail::argument_t<Args>(args)...);
}
/// Of functions of the library: `cond(p, sin, cos, x)`.
template <class... P, class... Args>
requires detail::TakesPlace<P...>
auto cond(const Operand& predicate, Array (*if_true)(P...), Array (*if_false)(P...), const Args&... args) {
  return cond(predicate, detail::library_function(if_true, predicate.loc),
              detail::library_function(if_false, predicate.loc), args...);
}
/// Refuses what cannot be called so.
template <class T, class F, class... Args>
requires(!detail::are_branches<std::tuple<T, F>, detail::argument_t<Args>...>) Array
    cond(const Operand&, const T&, const F&, const Args&...) {
  (void)sizeof(detail::CheckBranches<std::tuple<T, F>, detail::argument_t<Args>...>);
  return {};
}

/// Branch number `index` (an integer scalar, clamped to the branches there are) of a std::tuple of callables,
/// or of a std::vector of callables of one type, such as function pointers.
template <class... F, class... Args>
requires(detail::are_branches<std::tuple<F...>, detail::argument_t<Args>...>) auto switch_(
    const Operand& index, const std::tuple<F...>& branches, const Args&... args) {
  return detail::branch_call(detail::branch_index(index.array, index.loc), branches,
                             std::index_sequence_for<F...>{}, "switch_", index.loc,
                             detail::argument_t<Args>(args)...);
}
template <class F, class... Args>
requires(detail::are_branches<std::tuple<F>, detail::argument_t<Args>...>) auto switch_(
    const Operand& index, const std::vector<F>& branches, const Args&... args) {
  return detail::branch_call(detail::branch_index(index.array, index.loc), branches, "switch_", index.loc,
                             detail::argument_t<Args>(args)...);
}
/// Refuses what cannot be called so.
template <class... F, class... Args>
requires(!detail::are_branches<std::tuple<F...>, detail::argument_t<Args>...>) Array
    switch_(const Operand&, const std::tuple<F...>&, const Args&...) {
  static_assert(sizeof...(F) > 0, "switch_ needs at least one branch");
  (void)sizeof(detail::CheckBranches<std::tuple<F...>, detail::argument_t<Args>...>);
  return {};
}
template <class F, class... Args>
requires(!detail::are_branches<std::tuple<F>, detail::argument_t<Args>...>) Array
    switch_(const Operand&, const std::vector<F>&, const Args&...) {
  (void)sizeof(detail::CheckBranches<std::tuple<F>, detail::argument_t<Args>...>);
  return {};
}

}  // namespace apsis
