#pragma once

// Derivative rules of products. Those of Taylor mode all have the form of Leibniz's: with y = a b,
// y_n = Σ_k C(n, k) a_k b_{n-k} for the derivatives a_k of order k.

#include "ops/lax.hpp"

namespace apsis::detail {

/// Derivative k of operand i; the value itself for k = 0; empty if zero.
inline Array jet_term(const JetRule& r, std::size_t i, std::size_t k) {
  if (k == 0) return r.primals[i];
  return r.series[i].empty() ? Array() : r.series[i][k - 1];
}

/// C(n, k) a; `a` itself where that is 1.
Array times_binomial(const Array& a, std::size_t n, std::size_t k);
/// a + b, either of which may be empty.
Array add_terms(const Array& a, const Array& b);

/// y_n, for a product that is a function of derivatives of operands 0 and 1.
template <class Product>
Array leibniz(const JetRule& r, std::size_t n, Product&& product) {
  Array sum;
  for (std::size_t k = 0; k <= n; ++k) {
    Array a = jet_term(r, 0, k), b = jet_term(r, 1, n - k);
    if (!a.is_empty() && !b.is_empty()) sum = add_terms(sum, times_binomial(product(a, b), n, k));
  }
  return sum;
}

/// The rule of a product in forward mode.
template <class Product>
void jvp_of_product(const JvpRule& r, Product&& product) {
  r.outs[0] = product(r.primals[0], r.primals[1]);
  Array left, right;
  if (!r.tangents[0].is_empty()) left = product(r.tangents[0], r.primals[1]);
  if (!r.tangents[1].is_empty()) right = product(r.primals[0], r.tangents[1]);
  r.out_tangents[0] = add_terms(left, right);
}

/// The rule of a product in Taylor mode.
template <class Product>
void jet_of_product(const JetRule& r, Product&& product) {
  r.outs[0] = product(r.primals[0], r.primals[1]);
  for (std::size_t n = 1; n <= r.order; ++n) r.out_series[0].push_back(leibniz(r, n, product));
}

}  // namespace apsis::detail
