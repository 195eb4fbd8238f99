#pragma once

// Reductions by an operation of the user's own, over axes and over windows.
//
//   struct Best { Array value, index; };
//   auto better = [](const Best& a, const Best& b) {
//     Array first = a.value >= b.value;
//     return Best{where(first, a.value, b.value), where(first, a.index, b.index)};
//   };
//   Best best = reduce(better, Best{x, iota(x.shape(), 1)}, Best{-1e300, -1}, 1);

#include "apsis/array/window.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/transform/function.hpp"

namespace apsis {

namespace detail {
std::vector<Array> reduce_call(const Callee& combine, std::span<const Array> xs, std::span<const Array> init,
                               const Axes& axes, Loc loc);
std::vector<Array> reduce_window_call(const Callee& combine, std::span<const Array> xs,
                                      std::span<const Array> init, const WindowOptions& options, Loc loc);

/// `call(combine, leaves of xs, leaves of init)` on a function f(a, b) of trees.
template <class F, class T, class Call>
T fold_trees(const F& f, const T& xs, const T& init, const Call& call) {
  auto combine = [&f](const T& a, const T& b) { return T(f(a, b)); };
  FlatFunction<decltype(combine), T, T> flat(combine, xs, xs);
  flat.name_arguments({"xs", "xs"});
  std::vector<Array> leaves, starts;
  collect_leaves(xs, leaves);
  collect_leaves(init, starts);
  leaves = call(callee_of(flat), leaves, starts);
  return with_leaves(xs, leaves);
}
}  // namespace detail

/// All entries along axes (without axes: all elements) put together by `f(a, b)`, an associative operation on
/// trees of arrays of equal shapes, in pairs of neighbours, and the result with `init`, a scalar for each
/// array. f gets arrays of any shape and must work element by element; write `vectorize(f)` where it is meant
/// for numbers. Differentiable both ways. Throws where the arrays differ in shape, init is no scalar, or f
/// changes shapes or dtypes. (jax.lax.reduce, with `init` where there is nothing.)
template <class F, class T>
requires(detail::is_callable_with<F, T, T>) T
    reduce(const F& f, const T& xs, const std::type_identity_t<T>& init, const Axes& axes = {},
           Loc loc = Loc::here()) {
  return detail::fold_trees(f, xs, T(init), [&](const detail::Callee& combine, auto& leaves, auto& starts) {
    return detail::reduce_call(combine, leaves, starts, axes, loc);
  });
}

/// What stands in every place of a window, put together by `f` as in `reduce`, in row-major order; what is
/// beyond the arrays is `init`. (jax.lax.reduce_window)
template <class F, class T>
requires(detail::is_callable_with<F, T, T>) T
    reduce_window(const F& f, const T& xs, const std::type_identity_t<T>& init, const WindowOptions& options,
                  Loc loc = Loc::here()) {
  return detail::fold_trees(f, xs, T(init), [&](const detail::Callee& combine, auto& leaves, auto& starts) {
    return detail::reduce_window_call(combine, leaves, starts, options, loc);
  });
}

}  // namespace apsis
