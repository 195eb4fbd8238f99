// The Bessel functions J and Y of real order.

#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include "apsis/array/special.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/forbid.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"
#include "array/bessel_support.hpp"

namespace apsis::special {
using namespace detail;
namespace {

using std::numbers::pi;
using Two = std::tuple<Array, Array>;

/// J by its series, x² ≤ 2 (v + 1): terms fall off at once.
Array j_series(const Array& v, const Array& x) {
  const Array square = 0.25 * (x * x);
  Array sum = ones_like(x);
  for (int k = 18; k > 0; --k) sum = 1. - sum * (square / (double(k) * (v + double(k))));
  return leading_term(v, x) * sum;
}

struct Climb {
  Array k;
  Neighbours j, y;
};

/// From the orders μ, μ + 1 to μ + steps, μ + steps + 1 by recurrence, which is stable for Y, and for J as
/// long as the order is below x.
Climb climb(const Array& mu, const Array& count, const Array& x, const OfBothKinds& start) {
  const Array most = max(count, {.initial = 0.});
  const auto more = [&](const Climb& c) { return c.k <= most; };
  const auto step = [&](const Climb& c) {
    const Array factor = 2. * (mu + c.k) / x, on = c.k <= count;
    const auto up = [&](const Neighbours& f) {
      const Array above = where(isinf(f.next), f.next, factor * f.next - f.at);
      return Neighbours{where(on, f.next, f.at), where(on, above, f.next)};
    };
    return Climb{c.k + 1., up(c.j), up(c.y)};
  };
  return while_loop(more, step, Climb{ones({}, f64), start.j, start.y});
}

struct Fraction {
  Array k, ratio;
};

/// Jᵥ₊₁ / Jᵥ for v ≥ x: the continued fraction (DLMF 10.10.1) from behind. It forgets where it starts after
/// about 8 x^(1/3) terms.
Array j_ratio(const Array& v, const Array& x) {
  const Array depth = ceil(8. * cbrt(max(x, {.initial = 1.}))) + 16.;
  const Array far = v + depth + 1.;
  const auto more = [](const Fraction& f) { return f.k > 0; };
  const auto step = [&](const Fraction& f) {
    return Fraction{f.k - 1., 1. / (2. * (v + f.k) / x - f.ratio)};
  };
  return while_loop(more, step, Fraction{depth, x / (far + sqrt(far * far - x * x))}).ratio;
}

struct JandY {
  Array j, y;
};

/// Both for v ≥ 0, 0 < x < ∞.
JandY inside(const Array& v, const Array& x) {
  const Array whole = round(v), mu = v - whole, small = x < 0.5;
  const OfBothKinds large = by_steepest_descent(mu, where(small, 1., x));
  const Neighbours near = small_y(mu, where(small, x, 0.25));
  const OfBothKinds start{large.j,
                          {where(small, near.at, large.y.at), where(small, near.next, large.y.next)}};
  const Climb top = climb(mu, whole, x, start);
  const Array series = x * x <= 2. * (v + 1.), beyond = v > x && !series;
  // Jᵥ (ratio Yᵥ - Yᵥ₊₁) = 2 / (πx) (DLMF 10.5.2)
  const Array ratio = j_ratio(where(beyond, v, 2.), where(beyond, x, 1.));
  const Array mixed = ratio * where(beyond, top.y.at, 0.) - where(beyond, top.y.next, -1.);
  const Array by_y = (2 / pi) / (where(beyond, x, 1.) * mixed);
  const Array by_terms = j_series(where(series, v, 1.), where(series, x, 1.));
  return {where(series, by_terms, where(beyond, by_y, top.j.at)), top.y.at};
}

/// Of negative orders by DLMF 10.2.2 f.: J₋ᵥ = cos(πv) Jᵥ - sin(πv) Yᵥ, Y₋ᵥ = sin(πv) Jᵥ + cos(πv) Yᵥ.
Array jv_value(const Array& order, const Array& x) {
  const Array v = abs(order), z = abs(x), plain = z > 0 && isfinite(z) && isfinite(v);
  const Array u = where(plain, v, 1.), sine = sin_pi(u);
  const auto [j, y] = inside(u, where(plain, z, 1.));
  const Array turned = cos_pi(u) * j - where(sine == 0, 0., sine * y);
  const Array at_zero = where(v == 0, 1., where(order > 0 || order == floor(order), 0., INFINITY));
  const Array edge = where(z == 0, at_zero, where(z == INFINITY, 0., NAN));
  const Array value = where(plain, where(order < 0, turned, j), where(isnan(v), NAN, edge));
  return with_parity(value, order, x);
}

Array yv_value(const Array& order, const Array& x) {
  const Array v = abs(order), plain = x > 0 && isfinite(x) && isfinite(v);
  const Array u = where(plain, v, 1.), cosine = cos_pi(u);
  const auto [j, y] = inside(u, where(plain, x, 1.));
  const Array turned = sin_pi(u) * j + where(cosine == 0, 0., cosine * y);
  const Array edge = where(x == 0, -INFINITY, where(x == INFINITY, 0., NAN));
  return where(plain, where(order < 0, turned, y), where(isnan(v), NAN, edge));
}

/// The derivative from y = f(v, x): (v/x) f(v) - f(v + 1) for 0 ≤ v < 1, else (f(v - 1) - f(v + 1)) / 2 (DLMF
/// 10.6.1 f.).
template <class F>
Array slope(const F& f, const Array& v, const Array& x, const Array& y) {
  const Array low = v >= 0 && v < 1, above = f(v + 1., x);
  const Array growth = where(v == 0 || !low, 0., v / where(v == 0, 1., x) * y);
  return where(low, growth - above, 0.5 * (f(where(low, 1., v - 1.), x) - above));
}

Array jv_of(const Array& v, const Array& x) {
  return custom_jvp(jv_value, [](const Two& at, const Two& along) {
    const auto& [order, z] = at;
    const Array y = jv_of(order, z);
    return std::pair{y, std::get<1>(along) * slope(jv_of, order, z, y)};
  })(v, x);
}
Array yv_of(const Array& v, const Array& x) {
  return custom_jvp(yv_value, [](const Two& at, const Two& along) {
    const auto& [order, z] = at;
    const Array y = yv_of(order, z);
    return std::pair{y, std::get<1>(along) * slope(yv_of, order, z, y)};
  })(v, x);
}

}  // namespace

Array jv(const Array& v, const Array& x, Loc loc) {
  const LocScope place(loc);
  return in_f64("jv", {nondifferentiable(v, "the order of jv"), x},
                [](const auto& z) { return jv_of(z[0], z[1]); });
}
Array yv(const Array& v, const Array& x, Loc loc) {
  const LocScope place(loc);
  return in_f64("yv", {nondifferentiable(v, "the order of yv"), x},
                [](const auto& z) { return yv_of(z[0], z[1]); });
}

Array j0(const Array& x, Loc loc) { return jv(zeros_like(inexact(x)), x, loc); }
Array j1(const Array& x, Loc loc) { return jv(ones_like(inexact(x)), x, loc); }
Array y0(const Array& x, Loc loc) { return yv(zeros_like(inexact(x)), x, loc); }
Array y1(const Array& x, Loc loc) { return yv(ones_like(inexact(x)), x, loc); }

Array bessel_jn(const Array& x, std::int64_t v, Loc loc) {
  const LocScope place(loc);
  check_count("bessel_jn", v);
  const Array z = inexact(x);
  check_dtype("bessel_jn", is_floating(z.dtype()), "real numbers", x);
  Array orders = astype(arange(v + 1), z.dtype());
  for (int axis = 0; axis < z.ndim(); ++axis) orders = expand_dims(orders, -1);
  return jv(orders, expand_dims(z, 0));
}

}  // namespace apsis::special
