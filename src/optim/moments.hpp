// What Adam and its kin share.
#pragma once

#include "optim/support.hpp"

namespace apsis::optim::detail {

/// m / (sqrt(v + eps_root) + eps).
inline Array over_root(const Array& m, const Array& v, const Array& eps, const Array& eps_root) {
  return m / (sqrt(v + like(eps_root, v)) + like(eps, v));
}

// What they have in common: their options by name, and a state of a count and moments.

template <class Rule>
void check_moments(const Start& s, const char* name, const Rule& r) {
  s.check(name, "b1", r.b1, OptionRange::Fraction);
  s.check(name, "b2", r.b2, OptionRange::Fraction);
  s.check(name, "eps", r.eps, OptionRange::NotNegative);
  if constexpr (requires { r.eps_root; }) s.check(name, "eps_root", r.eps_root, OptionRange::NotNegative);
  if constexpr (requires { r.learning_rate; })
    s.check(name, "learning_rate", r.learning_rate, OptionRange::Rate);
  if constexpr (requires { r.weight_decay; })
    s.check(name, "weight_decay", r.weight_decay, OptionRange::Finite);
  if constexpr (requires { r.mu_dtype; }) s.check(name, "mu_dtype", r.mu_dtype);
}
template <class Rule>
void start_moments(Start& s, const char* name, const Rule& r) {
  check_moments(s, name, r);
  s.count();
  if constexpr (requires { r.mu_dtype; })
    s.zeros(r.mu_dtype);
  else
    s.zeros();
  s.zeros();
}
/// The direction, then decay of weights and the learning rate of the count before.
template <class Rule, class Direction>
void descend(Step& s, const Rule& rule, const Direction& direction) {
  const Array count = s.next_scalar();
  direction.step(s);
  if constexpr (requires { rule.mask; }) add_decayed_weights(s, rule.weight_decay, rule.mask, count);
  scale_by_learning_rate(s, rule.learning_rate, count);
}

}  // namespace apsis::optim::detail
