// Faddeeva's function, of real and imaginary parts.

#include <cmath>
#include <numbers>
#include <utility>

#include "apsis/array/special.hpp"
#include "apsis/ops/complex.hpp"
#include "apsis/ops/logic.hpp"
#include "array/special_support.hpp"

namespace apsis::special {
using namespace detail;
namespace {

using std::numbers::pi;

struct Complex {
  Array re, im;
};
Complex operator*(const Complex& a, const Complex& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// Smith's quotient, which does not overflow.
Complex operator/(const Complex& a, const Complex& b) {
  const Array wide = abs(b.re) >= abs(b.im), big = where(wide, b.re, b.im), r = where(wide, b.im, b.re) / big;
  const Array size = 1. / (big * (1. + r * r));
  const Array re = where(wide, a.re + a.im * r, a.re * r + a.im),
              im = where(wide, a.im - a.re * r, a.im * r - a.re);
  return {re * size, im * size};
}

constexpr int nodes = 12;

/// (2ihz/π) Σ exp(-t²) / (z² - t²) over t = (k + shift) h, the one of t = 0 counted half: the trapezoidal
/// rule for the integral DLMF 7.7.2.
Complex rule(const Complex& z, double shift, double h) {
  const Array re = (z.re - z.im) * (z.re + z.im), im = 2. * z.re * z.im;
  Complex sum{zeros_like(re), zeros_like(re)};
  for (int k = 0; k < nodes; ++k) {
    const double t = (k + shift) * h, weight = std::exp(-t * t) * (t == 0 ? 0.5 : 1);
    const Complex term = Complex{full_like(re, weight), zeros_like(re)} / Complex{re - t * t, im};
    sum = {sum.re + term.re, sum.im + term.im};
  }
  const Complex product = z * sum;
  return {product.im * (-2 * h / pi), product.re * (2 * h / pi)};
}

/// exp(-z²).
Complex bell(const Complex& z) {
  const Array size = exp((z.im - z.re) * (z.im + z.re)), angle = -2. * z.re * z.im;
  return {size * cos(angle), size * sin(angle)};
}

/// w(z) for x, y ≥ 0: of two rules the one with poles farther from z, and the residues between z and the line
/// of integration (Al Azah and Chandler-Wilde 2021).
Complex quadrant(const Complex& z) {
  const double h = std::sqrt(pi / nodes);
  const Array place = z.re / h, part = place - floor(place), high = z.im >= maximum(z.re, pi / h);
  const Array between = !high && z.im < z.re && part >= 0.25 && part <= 0.75;
  const auto choose = [&](const Complex& f, const Complex& g) {
    return Complex{where(between, f.re, g.re), where(between, f.im, g.im)};
  };
  const Complex at_points{where(between, z.re, 1.25 * h), where(between, z.im, 0.)};
  const Complex at_middles{where(between, h, z.re), where(between, 0., z.im)};
  const Complex sum = choose(rule(at_points, 0, h), rule(at_middles, 0.5, h));
  const Array size = exp((-2 * pi / h) * z.im), angle = (2 * pi / h) * z.re;
  const Complex p{size * cos(angle), size * sin(angle)}, low{where(high, 0., z.re), where(high, 0., z.im)};
  const Complex residue = bell(low) * p / Complex{where(between, p.re - 1., p.re + 1.), p.im};
  return {sum.re + where(high, 0., 2. * residue.re), sum.im + where(high, 0., 2. * residue.im)};
}

/// w(-x + iy) is the conjugate of w(x + iy), w(-z) = 2 exp(-z²) - w(z) (DLMF 7.4.3).
Complex value(const Array& x, const Array& y) {
  const Array below = y < 0, left = where(below, -x, x) < 0;
  const Complex w = quadrant({minimum(abs(x), 1e150), minimum(abs(y), 1e150)});
  const Complex up{w.re, where(left, -w.im, w.im)}, twice = bell({where(below, x, 0.), where(below, y, 0.)});
  return {where(below, 2. * twice.re - up.re, up.re), where(below, 2. * twice.im - up.im, up.im)};
}

}  // namespace

std::pair<Array, Array> wofz(const Array& x, const Array& y, Loc loc) {
  const LocScope place(loc);
  return {in_f64("wofz", {x, y}, [](const auto& v) { return value(v[0], v[1]).re; }),
          in_f64("wofz", {x, y}, [](const auto& v) { return value(v[0], v[1]).im; })};
}

Array wofz(const Array& z, Loc loc) {
  const LocScope place(loc);
  const auto [re, im] = wofz(real(z), imag(z));
  return complex(re, im);
}

}  // namespace apsis::special
