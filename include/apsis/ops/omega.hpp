#pragma once

// Arithmetic on whole trees, leaf by leaf.
//
//   Model mean = ((omega(a) + omega(b)) * 0.5).tree;

#include "apsis/ops/arithmetic.hpp"
#include "apsis/tree/map.hpp"

namespace apsis {

/// A tree with the operators of arrays. Both operands have one structure, or one is a scalar or an Array,
/// which meets every leaf. Empty leaves stay empty. Throws where the structures differ. (Equinox: ω.)
template <class T>
struct Omega {
  T tree;

#define APSIS_OMEGA(op)                                                                       \
  friend Omega operator op(const Omega& a, const Omega& b) {                                  \
    return {tree_map([](const Array& x, const Array& y) { return x op y; }, a.tree, b.tree)}; \
  }                                                                                           \
  friend Omega operator op(const Omega& a, const Array& b) {                                  \
    return {tree_map([&b](const Array& x) { return x op b; }, a.tree)};                       \
  }                                                                                           \
  friend Omega operator op(const Array& a, const Omega& b) {                                  \
    return {tree_map([&a](const Array& y) { return a op y; }, b.tree)};                       \
  }
  APSIS_OMEGA(+)
  APSIS_OMEGA(-)
  APSIS_OMEGA(*)
  APSIS_OMEGA(/)
#undef APSIS_OMEGA
  friend Omega operator-(const Omega& a) {
    return {tree_map([](const Array& x) { return -x; }, a.tree)};
  }
};

/// The tree with operators.
template <class T>
Omega<T> omega(T tree) {
  return {static_cast<T&&>(tree)};
}

}  // namespace apsis
