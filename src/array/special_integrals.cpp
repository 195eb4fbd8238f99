// Functions that are integrals of entire functions, by Gauss and Legendre's rule, and what belongs to them.
// Where an integrand falls off, the range ends where it is below e⁻³⁸ of its largest value.

#include <cmath>
#include <numbers>

#include "apsis/array/special.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/modified_bessel.hpp"
#include "array/quadrature.hpp"

namespace apsis::special {
using namespace detail;
namespace {

/// The first terms of Σ qᵏ / (k! (k + order)!), all positive, and more than enough for q ≤ 16.
template <int order>
Array modified_series(const Array& q) {
  double terms[23] = {1};
  for (int k = 1; k < 23; ++k) terms[k] = terms[k - 1] / (k * (k + order));
  return polynomial(terms, q);
}
/// I₀(x) e⁻ˣ, x ≥ 0 (DLMF 10.25.2).
Array i0e_value(const Array& x) {
  const Array far = x > 8., near = where(far, 0., x), y = where(far, x, 8.);
  return where(far, polynomial(modified_bessel::i0_far, 16. / y - 1.) / sqrt(y),
               modified_series<0>(0.25 * square(near)) * exp(-near));
}
/// I₁(x) e⁻ˣ, x ≥ 0.
Array i1e_value(const Array& x) {
  const Array far = x > 8., near = where(far, 0., x), y = where(far, x, 8.);
  return where(far, polynomial(modified_bessel::i1_far, 16. / y - 1.) / sqrt(y),
               0.5 * near * modified_series<1>(0.25 * square(near)) * exp(-near));
}
// |x| has no derivative at 0, but even functions have: theirs are given.
Array i1e_of(const Array& x);
Array i0e_of(const Array& x) {
  return custom_jvp([](const Array& v) { return i0e_value(minimum(abs(v), 1e300)); },
                    [](const Array& v, const Array& dv) {
                      const Array y = i0e_of(v);
                      return std::pair{y, dv * (i1e_of(v) - sign(v) * y)};
                    })(x);
}
Array i1e_of(const Array& x) {
  return custom_jvp([](const Array& v) { return where(isnan(v), v, i1e_value(abs(v)) * sign(v)); },
                    [](const Array& v, const Array& dv) {
                      const Array y = i1e_of(v), at_zero = v == 0, z = where(at_zero, 1., v);
                      return std::pair{y, dv * where(at_zero, 0.5, i0e_of(v) - y * (sign(v) + 1. / z))};
                    })(x);
}

/// 1 / (√π x) Σ (-1)ᵏ (2k - 1)!! / (2x²)ᵏ: erfcx for x ≥ 10.
Array erfcx_far(const Array& x) {
  double terms[16] = {1};
  for (int k = 1; k < 16; ++k) terms[k] = terms[k - 1] * -(2 * k - 1) / 2.;
  return polynomial(terms, 1. / (x * x)) / x * std::numbers::inv_sqrtpi;
}
Array erfcx_near(const Array& x) {
  const auto value = [](const Array& v) {
    const Array square = v * v, lost = fma(v, v, -square);
    return exp(square) * (1. + where(square < 800, lost, 0.)) * erfc(v);
  };
  return custom_jvp(value, [](const Array& v, const Array& dv) {
    const Array y = erfcx_near(v);
    return std::pair{y, dv * (2. * v * y - 2 * std::numbers::inv_sqrtpi)};
  })(x);
}

/// The range of ∫ exp(-u (2x - u)) du, x ≥ 0.
Array dawson_range(const Array& x) {
  const Array far = x > 6.5, y = where(far, x, 6.5);
  return where(far, 38. / (y + sqrt(y * y - 38.)), x);
}

/// -∫₁ˣ log t / (t - 1) dt for 1/2 ≤ x ≤ 2.
Array spence_middle(const Array& x) {
  return -integral(x - 1., x, [](const Array& s, const Array&) {
    const Array at_one = s == 0, safe = where(at_one, 1., s);
    return where(at_one, 1., log1p(safe) / safe);
  });
}

}  // namespace

Array i0e(const Array& x, Loc loc) {
  const LocScope place(loc);
  return unary("i0e", x, i0e_of);
}
Array i1e(const Array& x, Loc loc) {
  const LocScope place(loc);
  return unary("i1e", x, i1e_of);
}
Array i0(const Array& x, Loc loc) {
  const LocScope place(loc);
  return unary("i0", x, [](const Array& v) {
    return custom_jvp([](const Array& z) { return i0e_of(z) * exp(abs(z)); },
                      [](const Array& z, const Array& dz) {
                        return std::pair{i0(z), dz * i1(z)};
                      })(v);
  });
}
Array i1(const Array& x, Loc loc) {
  const LocScope place(loc);
  return unary("i1", x, [](const Array& v) {
    return custom_jvp([](const Array& z) { return i1e_of(z) * exp(abs(z)); },
                      [](const Array& z, const Array& dz) {
                        const Array at_zero = z == 0, safe = where(at_zero, 1., z);
                        return std::pair{i1(z), dz * where(at_zero, 0.5, i0(z) - i1(z) / safe)};
                      })(v);
  });
}

Array erfcx(const Array& x, Loc loc) {
  const LocScope place(loc);
  return unary("erfcx", x, [](const Array& v) {
    const Array far = v >= 10;
    return where(far, erfcx_far(where(far, v, 10.)), erfcx_near(where(far, 0., v)));
  });
}

Array dawsn(const Array& x, Loc loc) {
  const LocScope place(loc);
  return unary("dawsn", x, [](const Array& v) {
    const Array z = minimum(abs(v), 1e300);
    const Array value =
        integral(dawson_range(z), z, [](const Array& s, const Array& y) { return exp(-s * (2. * y - s)); });
    return where(v < 0, -value, where(v == 0, v, value));
  });
}

Array exp1(const Array& x, Loc loc) {
  const LocScope place(loc);
  return unary("exp1", x, [](const Array& v) {
    const Array far = v >= 0.5, z = where(far, minimum(v, 800.), 1.);
    const Array range = minimum(76. / (z + sqrt(z * z + 76. * z)), log1p(45. / z) + 0.3);
    const Array tail =
        exp(-z) * integral(range, z, [](const Array& s, const Array& y) { return exp(-y * expm1(s)); });
    // -γ - log x - Σ (-x)ᵏ / (k k!) (DLMF 6.6.2)
    const Array y = where(far, 0.25, where(v > 0, v, 0.25));
    double terms[18] = {0};
    double factorial = 1;
    for (int k = 1; k < 18; ++k) {
      factorial *= -k;
      terms[k] = -1 / (factorial * k);
    }
    const Array near = polynomial(terms, y) - (log(y) + euler);
    return where(far, tail, where(v > 0, near, where(v == 0, INFINITY, NAN)));
  });
}

namespace {

/// Ei(x) = γ + log x + eˣ ∫ (e⁻ᵗ - e⁻ˣ) / (x - t) dt from 0 to x (DLMF 6.2.6), x > 0. The integrand falls off
/// as e⁻ᵗ.
Array ei_positive(const Array& x) {
  const Array value = integral(minimum(x, 38.), x, [](const Array& t, const Array& y) {
    const Array left = y - t, at_end = left == 0, safe = where(at_end, 1., left);
    return exp(-t) * where(at_end, 1., -expm1(-safe) / safe);
  });
  const Array root = exp(0.5 * minimum(x, 1500.));  // eˣ may overflow before Ei(x) does
  return (euler + log(x)) + root * (root * value);
}

Array expi_of(const Array& x) {
  const auto value = [](const Array& v) {
    const Array above = v > 0, below = v < 0, finite = where(above, minimum(v, 1500.), 1.);
    const Array positive = where(v == INFINITY, INFINITY, ei_positive(finite));
    return where(above, positive, where(below, -exp1(where(below, -v, 1.)), where(v == 0, -INFINITY, NAN)));
  };
  return custom_jvp(value, [](const Array& v, const Array& dv) {
    const Array root = exp(0.5 * v);
    return std::pair{expi_of(v), dv * (root * (root / v))};
  })(x);
}

}  // namespace

Array expi(const Array& x, Loc loc) {
  const LocScope place(loc);
  return unary("expi", x, expi_of);
}

// By Li₂'s relations between x, 1 - x and 1 / x from 1/2 to 2 (DLMF 25.12).
Array spence(const Array& x, Loc loc) {
  const LocScope place(loc);
  return unary("spence", x, [](const Array& v) {
    constexpr double sixth = std::numbers::pi * std::numbers::pi / 6;
    const Array low = v > 0 && v<0.5, high = v> 2;
    const Array l = where(low, v, 0.25), h = where(high, v, 4.), log_h = log(h);
    const Array m = spence_middle(where(low, 1. - l, where(high, 1. - 1. / h, where(v >= 0.5, v, 1.))));
    const Array below = sixth - log(l) * log1p(-l) - m;
    const Array above = m - log_h * (0.5 * log_h + log1p(-1. / h)) - sixth;
    const Array outside = where(v == 0, sixth, NAN);
    return where(low, below, where(high, above, where(v >= 0.5, m, outside)));
  });
}

// Euler and Maclaurin's formula from the tenth term on (DLMF 25.11.28).
Array zeta(const Array& s, const Array& q, Loc loc) {
  const LocScope place(loc);
  return in_f64("zeta", {s, q}, [](const auto& v) {
    constexpr double bernoulli[] = {1. / 12,    // B₂ / 2!
                                    -1. / 720,  // B₄ / 4!
                                    1. / 30240,
                                    -1. / 1209600,
                                    1. / 47900160,
                                    -691. / 1307674368000.,
                                    1. / 74724249600.,
                                    -3617. / 10670622842880000.,
                                    43867. / 5109094217170944000.};
    const Array plain = v[0] > 1 && v[1] > 0;
    const Array p = where(plain, v[0], 2.), y = where(plain, v[1], 1.);
    Array total = zeros_like(p);
    const Array w = y + 10., last = pow(w, -p), bounded = minimum(p, 1e30);
    Array factor = bounded * last / w, tail = zeros_like(p);
    for (int j = 0; j < 9; ++j) {
      tail = tail + bernoulli[j] * factor;
      factor = factor * ((bounded + (2. * j + 1)) / w) * ((bounded + (2. * j + 2)) / w);
    }
    total = tail + (w / (p - 1.) + 0.5) * last;
    for (int k = 9; k >= 0; --k) total = total + pow(y + double(k), -p);
    const Array edge = where(v[0] == 1 || (v[0] > 1 && v[1] <= 0 && v[1] == floor(v[1])), INFINITY, NAN);
    return where(plain, total, where(isnan(v[0]) || isnan(v[1]), NAN, edge));
  });
}

}  // namespace apsis::special
