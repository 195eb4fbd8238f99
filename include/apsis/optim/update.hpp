#pragma once

// What is done with a change: parameters move by it.

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/tree/map.hpp"

namespace apsis::optim {

namespace detail {
Array added(const Array& p, const Array& change);
Array blended(const Array& fresh, const Array& old, const Array& step_size);
Array at_period(const Array& fresh, const Array& old, const Array& steps, std::int64_t period);
Array norm_of(const std::vector<Array>& leaves);
}  // namespace detail

/// params + change, leaf by leaf; where the change is empty the parameter stays. Keeps the parameters'
/// dtypes.
template <class P>
P apply_updates(const P& params, const P& change, Loc loc = Loc::here()) {
  return tree_map(detail::added, params, change, loc);
}
/// step_size · fresh + (1 - step_size) · old: a moving average of parameters.
template <class P>
P incremental_update(const P& fresh, const P& old, const Array& step_size, Loc loc = Loc::here()) {
  return tree_map([&](const Array& a, const Array& b) { return detail::blended(a, b, step_size); }, fresh,
                  old, loc);
}
/// `fresh` where `steps`, a scalar integer, is a multiple of `period`, else `old`.
template <class P>
P periodic_update(const P& fresh, const P& old, const Array& steps, std::int64_t period,
                  Loc loc = Loc::here()) {
  return tree_map([&](const Array& a, const Array& b) { return detail::at_period(a, b, steps, period); },
                  fresh, old, loc);
}
/// The root of the sum of squares of all elements of all leaves.
template <class P>
Array global_norm(const P& tree, Loc loc = Loc::here()) {
  const LocScope place(loc);
  return detail::norm_of(tree_leaves(tree));
}

}  // namespace apsis::optim

namespace apsis {
using optim::apply_updates;
}
