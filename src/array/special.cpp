#include "apsis/array/special.hpp"

#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include "apsis/array/elementwise.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/logic.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "array/special_support.hpp"

namespace apsis::special {
using namespace detail;
namespace {

/// Γ(x) for x ≥ 1/2. From Γ(z) at z = x + n ≥ 10, divided by x (x + 1) ….
Array gamma_above(const Array& x) {
  Array z = x, product = ones_like(x);
  for (int i = 0; i < 10; ++i) {
    const Array step = x < 10. - i;
    product = where(step, product * (x + double(i)), product);
    z = where(step, x + double(i + 1), z);
  }
  // What z lost when it was rounded would be multiplied by z log z.
  const Array added = round(z - x), lost = x - (z - added);
  const Array root = pow(z, (z - 0.5) * 0.5);
  const Array value = root * (exp(-z) * root) * exp(stirling(z) + log_root_two_pi);
  // (z - 1)! is a whole number: so rounded, Γ is exact for whole x below 2⁵² (f32: 2²³).
  const double most = x.dtype() == f64 ? 0x1p52 : 0x1p23;
  const Array nearest = where(z == round(z) && value < most, round(value), value);
  return nearest * (1. + lost * log(z)) / product;
}

Array gamma_value(const Array& x) {
  const Array below = x < 0.5;
  // Beyond, Γ is infinite, and the factors of its formula are 0 and infinite.
  const double most = x.dtype() == f64 ? 172 : 36;
  const Array z = where(below, 1. - x, x), above = where(z > most, INFINITY, gamma_above(z));
  // Γ(x) Γ(1 - x) = π / sin(πx)
  const Array nearest = round(x), odd = fmod(nearest, 2) != 0;
  const Array sine = sin((x - nearest) * std::numbers::pi);
  const Array reflected = std::numbers::pi / (where(odd, -sine, sine) * above);
  const Array pole = x == nearest && x < 0;
  const Array value = where(below, where(pole || x == -INFINITY, NAN, reflected), above);
  return where(x == INFINITY, INFINITY, where(x == 0, 1. / x, value));
}

}  // namespace

Array gamma(const Array& x, Loc loc) {
  const LocScope place(loc);
  const auto f = custom_jvp([](const Array& v) { return gamma_value(v); },
                            [](const Array& v, const Array& dv) {
                              const Array y = gamma_value(v);
                              return std::pair{y, dv * y * digamma(v)};
                            });
  return widened("gamma", x, [&](const Array& v) { return f(v); });
}

Array gammasgn(const Array& x, Loc loc) {
  const LocScope place(loc);
  return widened("gammasgn", x, [](const Array& v) {
    const Array whole = floor(v), odd = fmod(whole, 2) != 0;
    const Array negative = (v < 0 && odd) || (v == 0 && signbit(v));
    return where((v < 0 && v == whole) || isnan(v), NAN, where(negative, -ones_like(v), ones_like(v)));
  });
}

Array factorial(const Array& n, Loc loc) {
  const LocScope place(loc);
  const Array v = inexact(n);
  return where(v < 0, 0, gamma(where(v < 0, 1, v) + 1));
}

Array betaln(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  return widened("betaln", a, b, [](const Array& x, const Array& y) {
    const Array less = minimum(x, y), more = maximum(x, y);
    const Array far = more >= 10, both = less >= 10;
    // Where the larger one is large, Stirling's series of it and of the sum; of the smaller one, too, if it
    // is.
    const Array q = where(far, more, 10.), p = where(far, less, 10.), s = where(both, less, 10.);
    const Array sum_far = where(p + q > 0, p + q, 10.);
    const Array ratio = stirling(q) - stirling(sum_far) - (q - 0.5) * log1p(p / q);
    const Array one = lgamma(less) + (ratio - p * (log(sum_far) - 1.));
    const Array two = (stirling(s) + log_root_two_pi - 0.5 * log(s)) + (ratio - s * log1p(q / s));
    const Array near = lgamma(less) + (lgamma(more) - lgamma(x + y));
    return where(both, two, where(far && less > 0, one, near));
  });
}

namespace {

/// Γ(x + n) / Γ(x).
Array poch_value(const Array& x, const Array& n) {
  const Array sum = x + n, lost = lost_in_sum(x, n, sum), far = x >= 10 && sum >= 10;
  // Large ones by Stirling's series: ((x + n) / x)ˣ (x + n)ⁿ e⁻ⁿ √(x / (x + n)).
  const Array p = where(far, x, 10.), q = where(far, n, 0.), s = where(far, sum, 10.);
  const Array half = pow(s, 0.5 * q);
  const Array large = half * (power_of_quotient(s, p, p) * exp(-q) * half) * sqrt(p / s) *
                      exp(stirling(s) - stirling(p) + where(far, lost, 0.));
  const Array a = where(far, 1., x), b = where(far, 1., sum), e = where(far, 0., lost);
  const Array small = gamma_value(b) / gamma_value(a);
  return where(n == 0, 1., where(far, large, where(e == 0, small, small * (1. + e * digamma(b)))));
}
Array poch_of(const Array& x, const Array& n) {
  using Two = std::tuple<Array, Array>;
  return custom_jvp(poch_value, [](const Two& at, const Two& along) {
    const auto& [p, q] = at;
    const auto& [dp, dq] = along;
    const Array y = poch_of(p, q), end = digamma(p + q);
    return std::pair{y, y * (dp * (end - digamma(p)) + dq * end)};
  })(x, n);
}

/// Γ(x) Γ(y) / Γ(x + y).
Array beta_value(const Array& x, const Array& y) {
  const Array less = minimum(x, y), more = maximum(x, y), sum = x + y;
  const Array both = less >= 10, one = !both && more >= 10 && less > 0;
  // Both large: by Stirling's series √(2π s / (p q)) (p / s)ᵖ (q / s)ᑫ.
  const Array p = where(both, less, 10.), q = where(both, more, 10.), s = where(both, sum, 20.);
  const Array large = power_of_quotient(p, s, p) * power_of_quotient(q, s, q) *
                      sqrt(s / p / q * (2 * std::numbers::pi)) *
                      exp(stirling(p) + stirling(q) - stirling(s) - lost_in_sum(p, q, s));
  const Array few = where(one, less, 1.), many = where(one, more, 10.);
  const Array mixed = gamma_value(few) / poch_value(many, few);
  const Array near = !both && !one && abs(x) < 20 && abs(y) < 20;
  const Array a = where(near, x, 1.), b = where(near, y, 1.);
  const Array small = gamma_value(a) / gamma_value(a + b) * gamma_value(b);
  const Array rest = both || one || near;
  const Array sign = gammasgn(x) * gammasgn(y) * gammasgn(sum);
  const Array other = sign * exp(betaln(where(rest, 1., x), where(rest, 1., y)));
  return where(both, large, where(one, mixed, where(near, small, other)));
}
Array beta_of(const Array& x, const Array& y) {
  using Two = std::tuple<Array, Array>;
  return custom_jvp(beta_value, [](const Two& at, const Two& along) {
    const auto& [p, q] = at;
    const auto& [dp, dq] = along;
    const Array y = beta_of(p, q), end = digamma(p + q);
    return std::pair{y, y * (dp * (digamma(p) - end) + dq * (digamma(q) - end))};
  })(x, y);
}

}  // namespace

Array beta(const Array& a, const Array& b, Loc loc) {
  const LocScope place(loc);
  return widened("beta", a, b, beta_of);
}

Array poch(const Array& z, const Array& m, Loc loc) {
  const LocScope place(loc);
  return widened("poch", z, m, poch_of);
}

Array multigammaln(const Array& a, std::int64_t d, Loc loc) {
  const LocScope place(loc);
  check_count("multigammaln", d);
  const double n = static_cast<double>(d);
  return widened("multigammaln", a, [&](const Array& v) {
    const Array shifts = astype(arange(d), v.dtype()) * 0.5;
    return sum(lgamma(expand_dims(v, -1) - shifts), {.axis = -1}) +
           0.25 * n * (n - 1) * std::log(std::numbers::pi);
  });
}

// Near 1/2 as 2 artanh(2x - 1), whose argument is exact there.
Array logit(const Array& x, Loc loc) {
  const LocScope place(loc);
  return widened("logit", x, [](const Array& v) {
    const Array middle = v > 0.25 && v < 0.75;
    const Array inner = where(middle, v, 0.5), outer = where(middle, 0.1, v);
    return where(middle, 2. * atanh(2. * inner - 1.), log(outer / (1. - outer)));
  });
}

namespace {

using Pair = std::tuple<Array, Array>;

Array xlogy_value(const Array& x, const Array& y) { return where(x != 0 || isnan(y), x * log(y), 0.); }
Array xlog1py_value(const Array& x, const Array& y) { return where(x != 0 || isnan(y), x * log1p(y), 0.); }

}  // namespace

Array xlogy(const Array& x, const Array& y, Loc loc) {
  const LocScope place(loc);
  const auto f = custom_jvp(xlogy_value, [](const Pair& at, const Pair& along) {
    const auto& [p, q] = at;
    const auto& [dp, dq] = along;
    return std::pair{xlogy_value(p, q), dp * log(q) + dq * (p / q)};
  });
  return widened("xlogy", x, y, [&](const Array& p, const Array& q) { return f(p, q); });
}

Array xlog1py(const Array& x, const Array& y, Loc loc) {
  const LocScope place(loc);
  const auto f = custom_jvp(xlog1py_value, [](const Pair& at, const Pair& along) {
    const auto& [p, q] = at;
    const auto& [dp, dq] = along;
    return std::pair{xlog1py_value(p, q), dp * log1p(q) + dq * (p / (1. + q))};
  });
  return widened("xlog1py", x, y, [&](const Array& p, const Array& q) { return f(p, q); });
}

namespace {

Array entr_value(const Array& x) { return where(x < 0, -INFINITY, -xlogy_value(x, where(x < 0, 1., x))); }

}  // namespace

Array entr(const Array& x, Loc loc) {
  const LocScope place(loc);
  const auto f = custom_jvp(entr_value, [](const Array& v, const Array& dv) {
    return std::pair{entr_value(v), where(v < 0, 0., -dv * (log(where(v < 0, 1., v)) + 1.))};
  });
  return widened("entr", x, [&](const Array& v) { return f(v); });
}

Array rel_entr(const Array& p, const Array& q, Loc loc) {
  const LocScope place(loc);
  return widened("rel_entr", p, q, [](const Array& x, const Array& y) {
    const Array inside = x > 0 && y > 0;
    const Array a = where(inside, x, 1.), b = where(inside, y, 1.), ratio = a / b;
    const Array plain = isfinite(ratio) && ratio > 0;
    const Array value = a * where(plain, log(where(plain, ratio, 1.)), log(a) - log(b));
    const Array outside = where(x == 0 && y >= 0, zeros_like(value), full_like(value, INFINITY));
    return where(isnan(x) || isnan(y), NAN, where(inside, value, outside));
  });
}

Array kl_div(const Array& p, const Array& q, Loc loc) {
  const LocScope place(loc);
  return widened("kl_div", p, q, [](const Array& x, const Array& y) {
    // Near each other x (μ - log(1 + μ)), μ = (y - x) / x, which is exact there; else terms of which none
    // cancels.
    const Array near = x > 0 && y > 0.5 * x && y < 2. * x, p = where(near, x, 1.), q = where(near, y, 1.);
    const Array entropy = rel_entr(x, y);
    const Array apart = where(isinf(entropy) && !(x > 0 && y > 0), entropy, entropy - x + y);
    return where(near, p * log1p_remainder((q - p) / p), apart);
  });
}

namespace {

/// 1/√2 and what it is more than its rounding, by dtype.
std::pair<double, double> half_root(Dtype dtype) {
  return dtype == f64 ? std::pair{0.7071067811865476, -4.8336466567264565e-17}
                      : std::pair{0.7071067690849304, 1.2101617104478969e-08};
}

/// erfc(-x/√2) / 2, corrected for the rounding of its argument, which its tail would multiply by 2x².
Array lower_tail(const Array& x) {
  const auto [high, low] = half_root(x.dtype());
  const Array factor = full_like(x, high), z = -(x * factor);
  const Array lost = -fma(x, factor, z) - x * low;
  const Array bounded = clip(z, -30, 30);
  const Array slope = (2 / std::sqrt(std::numbers::pi)) * exp(-bounded * bounded);
  return 0.5 * (erfc(z) - where(isfinite(lost), slope * lost, 0.));
}

/// log(ndtr(x)) for x ≤ -10: the asymptotic series.
Array log_tail(const Array& x) {
  constexpr double terms[] = {1, -1, 3, -15, 105, -945, 10395, -135135, 2027025};
  const Array square = x * x;
  return log(polynomial(terms, 1. / square)) - 0.5 * square - log(-x) - log_root_two_pi;
}

}  // namespace

Array ndtr(const Array& x, Loc loc) {
  const LocScope place(loc);
  return widened("ndtr", x, lower_tail);
}

Array log_ndtr(const Array& x, Loc loc) {
  const LocScope place(loc);
  return widened("log_ndtr", x, [](const Array& v) {
    const double end = v.dtype() == f64 ? -20 : -10;
    const Array tail = v<end, upper = v> 0;
    const Array middle = where(tail, 0., v);
    const Array probability = lower_tail(where(upper, -middle, middle));
    return where(tail, log_tail(where(tail, v, end)),
                 where(upper, log1p(-probability), log(where(upper, 1., probability))));
  });
}

namespace {

// Rational approximations by Moshier (Cephes, ndtri), in ascending powers.
constexpr double centre_p[] = {-1.23916583867381258016e0, 1.39312609387279679503e1, -5.66762857469070293439e1,
                               9.80010754185999661536e1, -5.99633501014107895267e1};
constexpr double centre_q[] = {
    -1.18331621121330003142e0, 1.59056225126211695515e1,  -8.20372256168333339912e1,
    2.00260212380060660359e2,  -2.25462687854119370527e2, 8.63602421390890590575e1,
    4.67627912898881538453e0,  1.95448858338141759834e0,  1.0};
constexpr double near_p[] = {
    -8.57456785154685413611e-4, -3.50424626827848203418e-2, -1.40256079171354495875e-1,
    2.18663306850790267539e0,   1.46849561928858024014e1,   4.40805073893200834700e1,
    5.71628192246421288162e1,   3.15251094599893866154e1,   4.05544892305962419923e0};
constexpr double near_q[] = {
    -9.33259480895457427372e-4, -3.80806407691578277194e-2, -1.42182922854787788574e-1,
    2.50464946208309415979e0,   1.50425385692907503408e1,   4.13172038254672030440e1,
    4.53907635128879210584e1,   1.57799883256466749731e1,   1.0};
constexpr double far_p[] = {6.23974539184983293730e-9, 2.65806974686737550832e-6, 3.01581553508235416007e-4,
                            1.23716634817820021358e-2, 2.01485389549179081538e-1, 1.33303460815807542389e0,
                            3.93881025292474443415e0,  6.91522889068984211695e0,  3.23774891776946035970e0};
constexpr double far_q[] = {6.79019408009981274425e-9, 2.89247864745380683936e-6, 3.28014464682127739104e-4,
                            1.34204006088543189037e-2, 2.16236993594496635890e-1, 1.37702099489081330271e0,
                            3.67983563856160859403e0,  6.02427039364742014255e0,  1.0};

Array ndtri_value(const Array& p) {
  const double tail = 0.13533528323661269189;  // exp(-2)
  const Array upper = p > 1 - tail, inside = p > 0 && p < 1;
  const Array one_sided = where(inside, where(upper, 1. - p, p), 0.5);
  const Array w = one_sided - 0.5, ww = w * w;
  const Array centre =
      (w + w * ww * (polynomial(centre_p, ww) / polynomial(centre_q, ww))) * std::sqrt(2 * std::numbers::pi);
  const Array z = sqrt(-2. * log(one_sided)), u = 1. / z;
  const Array rational = where(z >= 8, polynomial(far_p, u) / polynomial(far_q, u),
                               polynomial(near_p, u) / polynomial(near_q, u));
  const Array below = -(z - log(z) * u - rational * u);
  const Array x = where(one_sided > tail, centre, below);
  const Array ends = where(p == 0, -INFINITY, where(p == 1, INFINITY, NAN));
  return where(inside, where(upper, -x, x), ends);
}

}  // namespace

Array ndtri(const Array& p, Loc loc) {
  const LocScope place(loc);
  const auto f = custom_jvp(ndtri_value, [](const Array& v, const Array& dv) {
    const Array x = ndtri_value(v);
    return std::pair{x, dv * (std::sqrt(2 * std::numbers::pi) * exp(0.5 * square(x)))};
  });
  return widened("ndtri", p, [&](const Array& v) { return f(v); });
}

}  // namespace apsis::special
