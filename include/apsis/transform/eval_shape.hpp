#pragma once

// The shapes of a result without computing it.
//
//   Array out = eval_shape(f, abstract_array({64, 2}, Dtype::F32));      // out.shape(), out.dtype(); no
//   value

#include "apsis/transform/function.hpp"

namespace apsis {

namespace detail {
/// The results as abstract arrays.
std::vector<Array> eval_shape_call(const Callee& callee, std::span<const Array> leaves);
}  // namespace detail

/// The result of `f(args…)` with abstract arrays in the place of arrays: structure, static values, shapes and
/// dtypes, nothing computed. Of the arguments too only shapes and dtypes count, so they may be abstract.
/// Throws what `f` throws. (JAX: eval_shape.)
template <class F, class... Args>
requires(!detail::RefusedCall<F, detail::argument_t<Args>...>) auto eval_shape(const F& f,
                                                                               const Args&... args) {
  using namespace detail;
  return [](const F& fn, const argument_t<Args>&... a) {
    FlatFunction<F, argument_t<Args>...> flat(fn, a...);
    std::vector<Array> shapes = eval_shape_call(callee_of(flat), flat.leaves());
    return flat.rebuild(shapes);
  }(f, args...);
}
template <class F, class... Args>
requires detail::RefusedCall<F, detail::argument_t<Args>...>
auto eval_shape(const F&, const Args&...) {
  detail::refuse_call<F, detail::argument_t<Args>...>();
  return Array();
}
template <class... P, class... Args>
requires detail::TakesPlace<P...>
auto eval_shape(Array (*f)(P...), const Args&... args) {
  return eval_shape(detail::library_function(f, {}), args...);
}

}  // namespace apsis
