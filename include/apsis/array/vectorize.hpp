#pragma once

// Functions of a number, a vector or a matrix, applied to all that an array has.
//
//   auto distance = vectorize([](const Array& a, const Array& b) { return norm(a - b); },
//                             {.signature = "(n),(n)->()"});
//   Array all = distance(expand_dims(points, 1), points);      // [m, m] of points [m, n]

#include <string>
#include <vector>

#include "apsis/ops/reduce.hpp"
#include "apsis/transform/vmap.hpp"

namespace apsis {

/// Options of `vectorize`.
struct VectorizeOptions {
  [[no_unique_address]] detail::ByName by_name = detail::ByName::only();
  /// The axes that the function is written for, by name, of each array of its arguments and results:
  /// "(m,n),(n)->(m)". Equal names are equal sizes; a number is a size. Without it, all are scalars, and
  /// results may have any axes.
  std::string signature = {};
  /// Arguments, numbered from 0, that every call gets as they are.
  std::vector<int> excluded = {};
};

namespace detail {

/// `mapped`: which leaves the signature speaks of.
std::vector<Array> vectorize_call(const Callee& callee, std::span<const Array> leaves,
                                  const std::vector<bool>& mapped, const VectorizeOptions& options, Loc loc);
/// The last leaf is the array.
std::vector<Array> along_axis_call(const Callee& callee, std::span<const Array> leaves, int axis, Loc loc);
/// With the axis of size 1 where a reduction has removed it.
Array with_axis_kept(const Array& reduced, const Array& x, int axis, Loc loc);
Dims axes_in_order(const Array& x, const Axes& axes, Loc loc);
/// 0, 1, … along an axis of a shape whose other sizes are 1.
Array index_along(const Dims& sizes, std::size_t axis, Loc loc);

}  // namespace detail

/// What `vectorize` returns; see there.
template <class F>
struct Vectorize : detail::Transformed<Vectorize<F>, F> {
  F f;
  VectorizeOptions options;
  Loc loc;
  Vectorize(F function, VectorizeOptions o, Loc l)
      : f(static_cast<F&&>(function)), options(static_cast<VectorizeOptions&&>(o)), loc(l) {}

  template <class... A>
  auto call(const A&... args) const {
    using namespace detail;
    FlatFunction<F, A...> flat(f, args...);
    std::vector<bool> mapped(flat.leaves().size(), true);
    for (std::size_t k = 0; k < flat.begin(0); ++k) mapped[k] = false;  // the callable's own
    for (int excluded : options.excluded)
      if (const auto i = static_cast<std::size_t>(excluded); i < sizeof...(A))
        for (std::size_t k = flat.begin(i); k < flat.end(i); ++k) mapped[k] = false;
    return flat.rebuild(vectorize_call(callee_of(flat), flat.leaves(), mapped, options, loc));
  }
};

/// A vectorized function is a tree if `f` is; the signature is static.
template <detail::TreeFunction F>
struct tree_trait<Vectorize<F>> {
  static constexpr const char* names = "function, signature, excluded";
  static constexpr decltype(auto) fields(auto& self, auto&& visit) {
    return visit(self.f, self.options.signature, self.options.excluded);
  }
};

/// Of a function of scalars (or, with a signature, of vectors and matrices) one of arrays: axes in front of
/// those that the function is written for broadcast, and the function is called for each of their elements,
/// by vmap, so that it may have loops and branches. Throws, when it is called, where arrays do not fit the
/// signature. (numpy.vectorize, with generalised signatures.)
template <class F>
Vectorize<F> vectorize(F f, VectorizeOptions options = {}, Loc loc = Loc::here()) {
  return Vectorize<F>(static_cast<F&&>(f), static_cast<VectorizeOptions&&>(options), loc);
}
template <class... P>
requires detail::TakesPlace<P...>
auto vectorize(Array (*f)(P...), VectorizeOptions options = {}, Loc loc = Loc::here()) {
  return vectorize(detail::library_function(f, loc), static_cast<VectorizeOptions&&>(options), loc);
}

namespace detail {
template <class F, std::size_t n, std::size_t... axis>
auto from_indices(const F& f, const std::int64_t (&shape)[n], std::index_sequence<axis...>, Loc loc) {
  return vectorize(f, {}, loc)(index_along(Dims(std::span<const std::int64_t>(shape)), axis, loc)...);
}
}  // namespace detail
/// `fromfunction(f, {m, n})` has f(i, j) at place (i, j), for as many indices as sizes. f gets scalars, i64;
/// where it gives arrays, their axes are the last of the result. Throws for negative sizes.
template <class F, std::size_t n>
auto fromfunction(const F& f, const std::int64_t (&shape)[n], Loc loc = Loc::here()) {
  return detail::from_indices(f, shape, std::make_index_sequence<n>(), loc);
}

/// `f(v)` for every vector v along an axis of x. The axes of the result, of any number, stand in the place of
/// that axis. Throws for an axis that is not there.
template <class F>
requires(detail::is_callable_with<F, Array>) auto apply_along_axis(const F& f, int axis, const Array& x,
                                                                   Loc loc = Loc::here()) {
  detail::FlatFunction<F, Array> flat(f, x);
  return flat.rebuild(detail::along_axis_call(detail::callee_of(flat), flat.leaves(), axis, loc));
}

/// `x = f(x, axis)` for each of the axes, in order; where f removes the axis, it is kept with size 1. Throws
/// where f gives another number of axes.
template <class F>
requires(std::is_invocable_r_v<Array, const F&, const Array&, int>) Array
    apply_over_axes(const F& f, const Array& x, const Axes& axes, Loc loc = Loc::here()) {
  Array y = x;
  for (std::int64_t axis : detail::axes_in_order(x, axes, loc)) {
    const int along = static_cast<int>(axis);
    y = detail::with_axis_kept(f(y, along), y, along, loc);
  }
  return y;
}

}  // namespace apsis
