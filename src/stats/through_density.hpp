// Distribution functions whose formulas have no derivative in the middle.
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

}  // namespace apsis::stats::detail
