// Associated Legendre functions and spherical harmonics.

#include <numbers>
#include <utility>

#include "apsis/array/special.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/forbid.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"
#include "array/special_support.hpp"

namespace apsis::special {
using namespace detail;
namespace {

struct Climb {
  Array k, before, last;
};

/// P̄ₘᵐ, by factors -√((2k + 1) / 2k) sin θ; for m ≥ 0.
Array sectoral(const Array& m, const Array& sine) {
  const Array most = max(m, {.initial = 0.});
  const auto next = [&](const Climb& c) {
    const Array factor = sqrt((2. * c.k + 1.) / (2. * c.k));
    return Climb{c.k + 1., c.before, where(c.k <= m, -factor * sine * c.last, c.last)};
  };
  const Array first = full_like(sine, 0.5 * std::numbers::inv_sqrtpi);
  return while_loop([&](const Climb& c) { return c.k <= most; }, next, Climb{ones({}, f64), first, first})
      .last;
}

/// P̄ₙᵐ for n ≥ m ≥ 0: upwards from n = m (DLMF 14.10.3, normalised).
Array legendre(const Array& n, const Array& m, const Array& theta) {
  const Array cosine = cos(theta), start = sectoral(m, sin(theta)), most = max(n - m, {.initial = 0.});
  const auto next = [&](const Climb& c) {
    const Array degree = m + c.k, square = degree * degree, below = square - 2. * degree + 1.;
    const Array scale = sqrt((4. * square - 1.) / (square - m * m));
    const Array weight = sqrt(maximum(below - m * m, 0.) / maximum(4. * below - 1., 1.));
    const Array value = scale * (cosine * c.last - weight * c.before), on = degree <= n;
    return Climb{c.k + 1., where(on, c.last, c.before), where(on, value, c.last)};
  };
  return while_loop([&](const Climb& c) { return c.k <= most; }, next,
                    Climb{ones({}, f64), zeros_like(start), start})
      .last;
}

Array of_orders(const Array& n, const Array& m, const Array& theta) {
  const Array order = abs(m), whole = n >= 0 && n == floor(n) && m == floor(m), inside = whole && order <= n;
  const Array p = where(inside, order, 0.), value = legendre(where(inside, n, 0.), p, theta);
  const Array turned = where(m < 0 && fmod(p, 2) != 0, -value, value);
  return where(inside, turned, where(whole || isnan(theta), 0. * theta, NAN));
}

}  // namespace

Array sph_legendre_p(const Array& n, const Array& m, const Array& theta, Loc loc) {
  const LocScope place(loc);
  return in_f64("sph_legendre_p",
                {nondifferentiable(n, "the degree of sph_legendre_p"),
                 nondifferentiable(m, "the order of sph_legendre_p"), theta},
                [](const auto& v) { return of_orders(v[0], v[1], v[2]); });
}

std::pair<Array, Array> sph_harm_y(const Array& n, const Array& m, const Array& theta, const Array& phi,
                                   Loc loc) {
  const LocScope place(loc);
  const Array degree = nondifferentiable(n, "the degree of sph_harm_y"),
              order = nondifferentiable(m, "the order of sph_harm_y");
  const auto part = [&](bool real) {
    return in_f64("sph_harm_y", {degree, order, theta, phi}, [&](const auto& v) {
      // What the angle lost when it was rounded turns the result by so much.
      const Array angle = v[1] * v[3], lost = stop_gradient(fma(v[1], v[3], -angle));
      const Array turned = real ? cos(angle) - lost * sin(angle) : sin(angle) + lost * cos(angle);
      return of_orders(v[0], v[1], v[2]) * turned;
    });
  };
  return {part(true), part(false)};
}

}  // namespace apsis::special
