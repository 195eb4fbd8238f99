// Distribution functions, and their inverses, whose formulas have no derivative in the middle.
#pragma once

#include <tuple>
#include <utility>

#include "apsis/control/custom.hpp"
#include "apsis/transform/jvp.hpp"
#include "stats/support.hpp"

namespace apsis::stats::detail {

/// below(z, p) of a distribution that is symmetric around 0: its derivative with respect to z is the density,
/// and at z = 0 that with respect to p is 0. The formula itself takes a root of z² there.
template <auto below, auto log_density>
Array through_density(const Array& z, const Array& p) {
  using Two = std::tuple<Array, Array>;
  return custom_jvp([](const Array& u, const Array& q) { return below(u, q); },
                    [](const Two& at, const Two& along) {
                      const auto& [u, q] = at;
                      const auto& [du, dq] = along;
                      const Array off = u != 0, safe = where(off, u, 1.);
                      const Array by_p = jvp([&](const Array& r) { return below(safe, r); }, q, dq).second;
                      return std::pair{through_density<below, log_density>(u, q),
                                       du * exp(log_density(u, q)) + where(off, by_p, 0.)};
                    })(z, p);
}

/// ±size(tails) of a distribution that is symmetric around 0, where both tails together have probability
/// 2 q, or 2 (1 - q).
template <class F>
Array both_sides(const Array& q, const F& size) {
  const Array lower = q < 0.5, z = size(2. * where(lower, q, 1. - q));
  return where(lower, -z, z);
}

/// The z whose below(z, p) is q. At the ends, where it may be infinite, p does not move it.
template <auto quantile, auto below, auto log_density>
Array through_inverse(const Array& q, const Array& p) {
  using Two = std::tuple<Array, Array>;
  return custom_jvp(
      [](const Array& v, const Array& r) { return quantile(v, r); },
      [](const Two& at, const Two& along) {
        const auto& [v, r] = at;
        const auto& [dv, dr] = along;
        const Array z = through_inverse<quantile, below, log_density>(v, r);
        const Array inside = isfinite(z), safe = where(inside, z, 0.);
        const Array by_p = jvp([&](const Array& s) { return below(safe, s); }, r, dr).second;
        const Array slope = exp(-log_density(safe, r));
        return std::pair{z, dv * where(inside, slope, INFINITY) - where(inside, by_p * slope, 0.)};
      })(q, p);
}

}  // namespace apsis::stats::detail
