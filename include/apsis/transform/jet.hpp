#pragma once

// Taylor mode: derivatives of high order along one path, at a cost that grows as a power of the order (nested
// forward mode doubles with each).
//
//   auto [y, ys] = jet(f, x, {dx, ddx, dddx});            // ys[k - 1] is the k-th derivative of f(x(t)) at 0
//   auto [z, zs] = jet(g, std::tuple{x, y}, {std::tuple{dx, dy}});

#include "apsis/transform/jvp.hpp"

namespace apsis {

namespace detail {

struct JetCall {
  std::vector<Array> outs;
  std::vector<std::vector<Array>> series;  // by order, then by output
};
/// `series` by order, then by leaf.
JetCall jet_call(const Callee& callee, std::span<const Array> leaves,
                 std::span<const std::vector<Array>> series, Loc loc);

template <class F, class... A>
auto jet_of(const F& f, const std::tuple<A...>& primals, std::span<const std::tuple<A...>> series, Loc loc) {
  return std::apply(
      [&](const A&... args) {
        FlatFunction<F, A...> flat(f, args...);
        check_floating(flat, "jet", loc);
        std::vector<std::vector<Array>> terms;
        for (const auto& s : series) {
          terms.emplace_back(flat.begin(0));
          collect_tangents(primals, s, terms.back());
        }
        JetCall r = jet_call(callee_of(flat), flat.leaves(), terms, loc);
        std::vector<typename FlatFunction<F, A...>::Result> out;
        for (const auto& s : r.series) out.push_back(flat.rebuild(s));
        return std::pair(flat.rebuild(r.outs), out);
      },
      primals);
}

}  // namespace detail

/// f at x, and the derivatives of t ↦ f(x(t)) at t = 0 of order 1, 2, …, given those of x(t): `series[k - 1]`
/// is the derivative of order k (not divided by k!), and there are as many results as entries. Empty leaves
/// are zero; those of integer results are empty. `f` is staged. Throws where an entry has another shape or
/// dtype than x, if nothing in x is floating, and at ops without derivative. (JAX: experimental.jet)
template <class F, class... A>
auto jet(const F& f, const std::tuple<A...>& primals, const std::vector<std::tuple<A...>>& series,
         Loc loc = Loc::here()) {
  return detail::jet_of(f, primals, std::span<const std::tuple<A...>>(series), loc);
}
/// For functions of one argument.
template <class F, class A>
auto jet(const F& f, const A& primal, const std::vector<detail::argument_t<A>>& series,
         Loc loc = Loc::here()) {
  using T = std::tuple<detail::argument_t<A>>;
  std::vector<T> wrapped;
  for (const auto& s : series) wrapped.push_back(T(s));
  return detail::jet_of(f, T(primal), std::span<const T>(wrapped), loc);
}

}  // namespace apsis
