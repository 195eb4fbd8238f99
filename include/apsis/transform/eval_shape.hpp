#pragma once

// The shapes of a result without computing it.
//
//   Array out = eval_shape(f, abstract_array({64, 2}, Dtype::F32));      // out.shape(), out.dtype(); no
//   value

#include "apsis/transform/declare.hpp"

namespace apsis {

namespace detail {
/// The results as abstract arrays.
std::vector<Array> eval_shape_call(const Callee& callee, std::span<const Array> leaves);

template <class F, class... Args>
auto eval_shape_at(Loc loc, const F& f, const Args&... args) {
  return [loc](const F& fn, const argument_t<Args>&... a) {
    const LocScope place(loc);
    FlatFunction<F, argument_t<Args>...> flat(fn, a...);
    std::vector<Array> shapes = eval_shape_call(callee_of(flat), flat.leaves());
    return flat.rebuild(shapes);
  }(f, args...);
}
}  // namespace detail

/// `eval_shape(f, args…)`: the result of `f(args…)` with abstract arrays in the place of arrays: structure,
/// static values, shapes and dtypes, nothing computed. Of the arguments too only shapes and dtypes count, so
/// they may be abstract. Throws what `f` throws. (JAX: eval_shape.)
APSIS_TRANSFORM_CALL(eval_shape)
template <class F, class... Args>
requires detail::RefusedArguments<F, Args...>
auto eval_shape(const F&, const Args&...) {
  detail::refuse_call<F, detail::argument_t<Args>...>();
  return Array();
}

}  // namespace apsis
