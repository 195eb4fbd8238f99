// Functions that are integrals, by the rule of gauss_legendre.hpp.
#pragma once

#include <span>

#include "apsis/ops/reduce.hpp"
#include "array/gauss_legendre.hpp"
#include "array/special_support.hpp"

namespace apsis::special::detail {

constexpr double euler = 0.57721566490153286061;

/// ∫ f(s) ds from 0 to `length`, a range for each element. The points are along a last axis, which parameters
/// of f have, too.
template <class F>
Array integral(const Array& length, const F& f) {
  const Array range = expand_dims(length, -1);
  const Array s = range * array(std::span<const double>(gauss_legendre::nodes), {36});
  const Array weights = array(std::span<const double>(gauss_legendre::weights), {36});
  return length * sum(f(s) * weights, {.axis = -1});
}

/// ∫ f(s, x) ds, with one parameter.
template <class F>
Array integral(const Array& length, const Array& x, const F& f) {
  const Array parameter = expand_dims(x, -1);
  return integral(length, [&](const Array& s) { return f(s, parameter); });
}

/// f of one number, in f64.
template <class F>
Array unary(const char* where, const Array& x, const F& f) {
  return in_f64(where, {x}, [&](const auto& v) { return f(v[0]); });
}

}  // namespace apsis::special::detail
