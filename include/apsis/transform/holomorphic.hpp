#pragma once

// Derivatives of functions of complex numbers.
//
//   auto f = [](const Array& z) { return z * exp(z); };
//   Array slope = grad(holomorphic(f))(z);       // f'(z), z a scalar   (JAX: grad(f, holomorphic=True))
//   Array j = jacrev(holomorphic(g))(z);         // of vectors: ∂g[i]/∂z[j]; jacfwd is the same
//   Array second = grad(holomorphic(grad(holomorphic(f))))(z);

#include <utility>

#include "apsis/ops/complex.hpp"
#include "apsis/transform/transformed.hpp"
#include "apsis/tree/map.hpp"

namespace apsis {

namespace detail {
/// The real part of a result. Throws unless it is complex.
Array real_of_holomorphic(const Array& result, Loc loc);
template <class T>
auto real_of_holomorphic(const T& results, Loc loc) {
  return tree_map([&](const Array& a) { return real_of_holomorphic(a, loc); }, results);
}
template <class Value, class Aux>
auto real_of_holomorphic(const std::pair<Value, Aux>& results, Loc loc) {
  return std::pair(real_of_holomorphic(results.first, loc), results.second);
}
}  // namespace detail

/// What `holomorphic` returns; see there.
template <class F>
struct Holomorphic : detail::Transformed<Holomorphic<F>, F> {
  F f;
  Loc loc;
  explicit Holomorphic(F function, Loc l = {}) : f(static_cast<F&&>(function)), loc(l) {}

  template <class... A>
  auto call(const A&... arguments) const {
    return detail::real_of_holomorphic(f(arguments...), loc);
  }
};

template <detail::TreeFunction F>
struct tree_trait<Holomorphic<F>> {
  static constexpr const char* names = "function";
  static constexpr decltype(auto) fields(auto& self, auto&& visit) { return visit(self.f); }
};

/// The real part u of a holomorphic function f = u + iv, whose gradient ∂x u - i ∂y u is f' (Cauchy and
/// Riemann): `grad` and `jacrev` of it by complex arguments are the derivative of f. By real arguments they
/// are that of u. `jacfwd` takes f itself: the same derivative by complex arguments, that of f by real ones.
/// Of a pair, the second part is auxiliary, as in `grad`. That f is holomorphic is not
/// checked: of what is not (`abs`, `conj`), the gradient is that of u. Throws where a result of f is not
/// complex.
template <class F>
auto holomorphic(F f, Loc loc = Loc::here()) {
  return Holomorphic<F>(static_cast<F&&>(f), loc);
}

}  // namespace apsis
