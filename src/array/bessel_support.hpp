// What the Bessel functions are made of. All of f64, elementwise, without derivatives.
#pragma once

#include <span>
#include <vector>

#include "apsis/ops/reduce.hpp"
#include "array/special_support.hpp"

namespace apsis::special::detail {

/// A function of the orders μ and μ + 1.
struct Neighbours {
  Array at, next;
};

/// K of the orders μ and μ + 1, |μ| ≤ 1/2, 0 < x ≤ 1/2, and Y of them.
Neighbours small_k(const Array& mu, const Array& x);
Neighbours small_y(const Array& mu, const Array& x);
/// J and Y of the orders μ and μ + 1, |μ| ≤ 1/2, x ≥ 1/2.
struct OfBothKinds {
  Neighbours j, y;
};
OfBothKinds by_steepest_descent(const Array& mu, const Array& x);

/// (x/2)^v / Γ(v + 1) for v ≥ 0, x > 0.
Array leading_term(const Array& v, const Array& x);

/// 0, 1, …, n.
inline Array steps(int n) {
  std::vector<double> k(static_cast<std::size_t>(n) + 1);
  for (int i = 0; i <= n; ++i) k[static_cast<std::size_t>(i)] = i;
  return array(std::span<const double>(k), {n + 1});
}
/// The sum of f at the steps, the first one counted half: the trapezoidal rule, whose error falls off
/// exponentially for analytic functions that are even or fall off on both sides.
inline Array trapezoid_sum(const Array& f, const Array& step, int n) {
  std::vector<double> w(static_cast<std::size_t>(n) + 1, 1.);
  w[0] = 0.5;
  return step * sum(f * array(std::span<const double>(w), {n + 1}), {.axis = -1});
}

/// sinh x - x or, for sign -1, x - sin x.
Array less_x(const Array& x, int sign);
/// sin πv and cos πv, exact at integers.
Array sin_pi(const Array& v);
Array cos_pi(const Array& v);
/// f for x ≥ 0 continued to x < 0, where v is an integer: (-1)ᵛ f. NaN for other v.
Array with_parity(const Array& f, const Array& v, const Array& x);

}  // namespace apsis::special::detail
