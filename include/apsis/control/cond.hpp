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

/// Whether all branches can be called so, and return the same type.
template <class Branches, class... A>
inline constexpr bool are_branches = false;
template <class First, class... F, class... A>
requires(CallableWith<First, A...> &&
         (CallableWith<F, A...> && ...)) inline constexpr bool are_branches<std::tuple<First, F...>, A...> =
    (std::is_same_v<std::decay_t<std::invoke_result_t<const std::remove_cvref_t<First>&, const A&...>>,
                    std::decay_t<std::invoke_result_t<const std::remove_cvref_t<F>&, const A&...>>> &&
     ...);

template <class... F, std::size_t... I, class... A>
requires(are_branches<std::tuple<F...>, A...>) auto branch_call(const Array& index,
                                                                const std::tuple<F...>& branches,
                                                                std::index_sequence<I...>, const char* name,
                                                                Loc loc, const A&... args) {
  if (std::optional<std::size_t> chosen = branch_to_run(index, sizeof...(F))) {
    using Chosen = std::decay_t<decltype(std::get<0>(branches)(args...))>;
    std::optional<Chosen> result;
    ((*chosen == I ? (void)result.emplace(std::get<I>(branches)(args...)) : (void)0), ...);
    return *result;
  }
  auto wrap = [](const auto& f) { return [&f](const A&... a) { return f(a...); }; };
  auto opaque = std::tuple(wrap(std::get<I>(branches))...);
  auto flats = std::tuple(
      FlatFunction<std::tuple_element_t<I, decltype(opaque)>, A...>(std::get<I>(opaque), args...)...);
  Callee callees[] = {callee_of(std::get<I>(flats))...};
  const auto& first = std::get<0>(flats);
  std::vector<Array> out = cond_call(index, callees, first.leaves(), name, loc);
  StaticKey key;
  append_static_key(first.prototype(), key);
  auto check = [&](const auto& flat) {
    StaticKey other;
    append_static_key(flat.prototype(), other);
    if (!(key == other) || flat.present() != first.present()) fail_branch_structure(name, loc);
  };
  (check(std::get<I>(flats)), ...);
  return first.rebuild(out);
}

template <class... F, std::size_t... I, class... A>
void branch_call(const Array&, const std::tuple<F...>&, std::index_sequence<I...>, const char*, Loc,
                 const A&...) {
  static_assert(
      (CallableWith<F, A...> && ...),
      "cond and switch_ call their branches with the operands that follow them: each branch must take "
      "all of these, by their types");
  static_assert(!(CallableWith<F, A...> && ...) || are_branches<std::tuple<F...>, A...>,
                "all branches must return the same type");
}

}  // namespace detail

/// `if_true(args…)` or `if_false(args…)`, by a boolean scalar. Both are traced, one is run (under vmap with a
/// mapped predicate both run, and a NaN of the one not taken does not reach a derivative). Both return the
/// same structure, shapes and dtypes; throws otherwise.
template <class T, class F, class... Args>
auto cond(const Operand& predicate, const T& if_true, const F& if_false, const Args&... args) {
  return detail::branch_call(detail::branch_of(predicate.array, predicate.loc), std::tie(if_true, if_false),
                             std::make_index_sequence<2>{}, "cond", predicate.loc,
                             detail::argument_t<Args>(args)...);
}

/// Branch number `index` (an integer scalar, clamped to the branches there are) of a std::tuple of callables.
template <class... F, class... Args>
auto switch_(const Operand& index, const std::tuple<F...>& branches, const Args&... args) {
  static_assert(sizeof...(F) > 0, "switch_ needs at least one branch");
  return detail::branch_call(detail::branch_index(index.array, index.loc), branches,
                             std::index_sequence_for<F...>{}, "switch_", index.loc,
                             detail::argument_t<Args>(args)...);
}

}  // namespace apsis
