#pragma once

// The terms of underdamped Langevin diffusion, dx = v dt, dv = -γ v dt - u ∇f(x) dt + √(2 γ u) dW, whose
// stationary law has the density exp(-f(x) - |v|² / (2 u)). All solvers for Brownian motion take them; those
// of apsis/diffeq/langevin.hpp solve all but ∇f exactly.

#include <span>
#include <utility>
#include <vector>

#include "apsis/diffeq/control_term.hpp"

namespace apsis {

namespace detail {

/// γ or u as arrays like those of x; one array serves for all. Throws where they do not fit.
std::vector<Array> like_position(std::span<const Array> coefficients, std::span<const Array> x,
                                 const char* name);
/// -γ v - u g.
std::vector<Array> langevin_force(std::span<const Array> gamma, std::span<const Array> u,
                                  std::span<const Array> v, std::span<const Array> gradient);
/// √(2 γ u).
std::vector<Array> langevin_noise(std::span<const Array> gamma, std::span<const Array> u,
                                  std::span<const Array> x);

template <class T>
std::vector<Array> leaves_in(const T& tree) {
  std::vector<Array> leaves;
  collect_leaves(tree, leaves);
  return leaves;
}
/// What is given for γ and u: numbers become Arrays.
template <class T>
using coefficient_t = std::conditional_t<std::is_arithmetic_v<T>, Array, T>;

}  // namespace detail

/// (v, -γ v - u ∇f(x)) dt, for a state std::pair{x, v} of two trees of one type. γ and u are diagonal: trees
/// like x, or one array for all, which broadcasts. `grad_f(x)` is ∇f, a tree like x.
template <class G, class U, class F>
struct UnderdampedLangevinDriftTerm {
  G gamma;
  U u;
  F grad_f;

  /// The slope of (x, v).
  template <class X>
  std::pair<X, X> vector_field(const Array&, const std::pair<X, X>& y) const {
    const std::vector<Array> force =
        detail::langevin_force(detail::leaves_in(gamma), detail::leaves_in(u), detail::leaves_in(y.second),
                               detail::leaves_in(X(grad_f(y.first))));
    return {y.second, detail::with_leaves(y.second, force)};
  }
};
template <class G, class U, class F>
UnderdampedLangevinDriftTerm(G, U, F)
    -> UnderdampedLangevinDriftTerm<detail::coefficient_t<G>, detail::coefficient_t<U>, F>;

/// (0, √(2 γ u) dW), where the path is like x; γ and u are those of the drift.
template <class G, class U, class P>
struct UnderdampedLangevinDiffusionTerm {
  G gamma;
  U u;
  P control;
  static constexpr Calculus calculus = Calculus::Any;  // the noise is additive

  template <class X>
  detail::SecondHalf vector_field(const Array&, const std::pair<X, X>& y) const {
    return {
        detail::langevin_noise(detail::leaves_in(gamma), detail::leaves_in(u), detail::leaves_in(y.first))};
  }
};
template <class G, class U, class P>
UnderdampedLangevinDiffusionTerm(G, U, P)
    -> UnderdampedLangevinDiffusionTerm<detail::coefficient_t<G>, detail::coefficient_t<U>, P>;

namespace detail {

template <class T>
inline constexpr bool is_langevin_drift = false;
template <class G, class U, class F>
inline constexpr bool is_langevin_drift<UnderdampedLangevinDriftTerm<G, U, F>> = true;
template <class T>
inline constexpr bool is_langevin_diffusion = false;
template <class G, class U, class P>
inline constexpr bool is_langevin_diffusion<UnderdampedLangevinDiffusionTerm<G, U, P>> = true;
template <class G, class U, ControlPath P>
inline constexpr bool is_control_term<UnderdampedLangevinDiffusionTerm<G, U, P>> = true;

/// What the solvers of langevin.hpp ask of their terms.
struct FlatLangevin {
  /// γ and u of the drift, γ and u of the diffusion.
  std::vector<Array> (*coefficients)(const void* context, int which) = nullptr;
  std::vector<Array> (*gradient)(const void* context, std::span<const Array> x) = nullptr;
};
/// `Of` is a TermsOf of a MultiTerm of both terms.
template <class Of>
FlatLangevin flat_langevin() {
  return {[](const void* self, int which) {
            const auto& [drift, diffusion] = static_cast<const Of*>(self)->term.terms;
            return which == 0   ? leaves_in(drift.gamma)
                   : which == 1 ? leaves_in(drift.u)
                   : which == 2 ? leaves_in(diffusion.gamma)
                                : leaves_in(diffusion.u);
          },
          [](const void* self, std::span<const Array> x) {
            const Of& of = *static_cast<const Of*>(self);
            using X = std::remove_cvref_t<decltype(of.like.first)>;
            return leaves_in(X(std::get<0>(of.term.terms).grad_f(with_leaves(of.like.first, x))));
          }};
}

}  // namespace detail
}  // namespace apsis
