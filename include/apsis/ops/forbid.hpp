#pragma once

// Values that refuse a transformation: for code whose answer would be wrong under it, so that it fails where
// the mistake is made instead.

#include <string_view>

#include "apsis/core/array.hpp"
#include "apsis/tree/map.hpp"

namespace apsis {

namespace detail {
enum class Forbid : std::uint8_t { Differentiation, Reverse, Batching, Staging };
Array forbid(const Array& x, Forbid what, std::string_view name, Loc loc);
}  // namespace detail

/// The tree itself; differentiating through it throws, naming `name`. (Equinox: nondifferentiable.)
template <class T>
T nondifferentiable(const T& tree, std::string_view name, Loc loc = Loc::here()) {
  return tree_map(
      [&](const Array& a) { return detail::forbid(a, detail::Forbid::Differentiation, name, loc); }, tree);
}
/// The tree itself; forward mode passes, reverse mode throws, naming `name`. (Equinox:
/// nondifferentiable_backward.)
template <class T>
T nondifferentiable_backward(const T& tree, std::string_view name, Loc loc = Loc::here()) {
  return tree_map([&](const Array& a) { return detail::forbid(a, detail::Forbid::Reverse, name, loc); },
                  tree);
}
/// The tree itself; vmap over it throws, naming `name`. (Equinox: nonbatchable.)
template <class T>
T nonbatchable(const T& tree, std::string_view name, Loc loc = Loc::here()) {
  return tree_map([&](const Array& a) { return detail::forbid(a, detail::Forbid::Batching, name, loc); },
                  tree);
}
/// The tree itself, where its values are known; tracing it (under jit, or in the body of a loop or branch)
/// throws, naming `name`. (Equinox: nontraceable.)
template <class T>
T nontraceable(const T& tree, std::string_view name, Loc loc = Loc::here()) {
  return tree_map([&](const Array& a) { return detail::forbid(a, detail::Forbid::Staging, name, loc); },
                  tree);
}

}  // namespace apsis
