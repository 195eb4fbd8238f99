#pragma once

// All prefixes of an associative operation, in logarithmically many steps.
//
//   struct Affine { Array a, b; };                                     // x → a x + b, an entry each
//   auto then = [](const Affine& f, const Affine& g) { return Affine{g.a * f.a, g.a * f.b + g.b}; };
//   Affine prefixes = associative_scan(then, steps);

#include "apsis/control/while_loop.hpp"

namespace apsis {

/// Options of `associative_scan`.
struct AssociativeScanOptions {
  /// From the end: entry i is `en ∘ … ∘ ei`.
  bool reverse = false;
  /// The axis of the entries; negative ones count from the end.
  int axis = 0;
};

namespace detail {
std::vector<Array> associative_scan_call(const Callee& combine, std::span<const Array> elems,
                                         const AssociativeScanOptions& options, Loc loc);
}

/// Entry i of the result is `e0 ∘ e1 ∘ … ∘ ei`, where `f(a, b)` is `a ∘ b`, an associative operation on
/// trees. `f` gets many entries at once and must work entry by entry along the axis, as elementwise ops do;
/// write `vmap(f)` where it is meant for one entry. Differentiable both ways, and mappable. Throws if the
/// entries differ in number, or `f` changes shapes or dtypes. (Blelloch 1990; JAX: lax.associative_scan.)
template <class F, class T>
requires(detail::is_callable_with<F, T, T>) T
    associative_scan(const F& f, const T& elems, const AssociativeScanOptions& options = {},
                     Loc loc = Loc::here()) {
  auto combine = [&f](const T& a, const T& b) { return T(f(a, b)); };
  detail::FlatFunction<decltype(combine), T, T> flat(combine, elems, elems);
  flat.name_arguments({"elems", "elems"});
  std::vector<Array> leaves;
  detail::collect_leaves(elems, leaves);
  leaves = detail::associative_scan_call(detail::callee_of(flat), leaves, options, loc);
  return detail::with_leaves(elems, leaves);
}

/// Refuses what cannot be called so.
template <class F, class T>
requires(!detail::is_callable_with<F, T, T>) T
    associative_scan(const F&, const T& elems, const AssociativeScanOptions& = {}) {
  static_assert(detail::is_callable_with<F, T, T>,
                "associative_scan calls its operation as f(a, b): both must take the type of the entries");
  return elems;
}

}  // namespace apsis
