#pragma once

// What derivatives take as constant, loops and what their bodies capture included.

#include <utility>

#include "apsis/control/implicit.hpp"
#include "apsis/ops/creation.hpp"

namespace apsis::detail {

/// f(), a tree of Arrays, without derivatives: as what the solver of custom_root returns beside its root.
template <class F>
auto without_derivative(const F& f) {
  const auto nothing = [](const Array& x) { return x; };
  const auto solve = [&f](const auto&, const Array& x) { return std::pair(x, f()); };
  return custom_root(nothing, zeros({}), solve, [](const auto&, const Array& x) { return x; }).second;
}

}  // namespace apsis::detail
