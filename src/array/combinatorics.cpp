// Numbers of choices, and what belongs to factorials.

#include <cmath>
#include <numbers>
#include <tuple>
#include <utility>

#include "apsis/array/special.hpp"
#include "apsis/control/custom.hpp"
#include "apsis/ops/forbid.hpp"
#include "apsis/ops/logic.hpp"
#include "array/special_support.hpp"

namespace apsis::special {
using namespace detail;
namespace {

using Two = std::tuple<Array, Array>;

/// Up to here products are made factor by factor: they are exact while they are below 2⁵³.
constexpr int factors = 30;

Array is_small_integer(const Array& k) { return k == floor(k) && k >= 0 && k <= double(factors); }

/// ψ(x + k) - ψ(x) for x > 0, k ≥ 0: without cancellation where x is large.
Array digamma_rise(const Array& x, const Array& k) {
  const Array far = x >= 20, z = where(far, x, 20.), near = where(far, 1., x);
  return where(far, log1p(k / z) + (digamma_tail(z + k) - digamma_tail(z)),
               digamma(near + k) - digamma(near));
}

/// Where 0 ≤ k ≤ n, where both numbers of choices are not 0.
Array is_choice(const Array& n, const Array& k) { return k <= n && n >= 0 && k >= 0; }

/// Where no product is short.
Array long_comb(const Array& n, const Array& k) {
  const Array rest = n - k, less = minimum(k, rest), both = less >= 10;
  // Both large: by Stirling's series √(n / (2π p q)) (n / p)ᵖ (n / q)ᑫ.
  const Array s = where(both, n, 60.), p = where(both, rest, 30.), q = where(both, k, 30.);
  const Array large =
      power_of_quotient(s, p, p) * (power_of_quotient(s, q, q) * sqrt(s / p / q * (0.5 / std::numbers::pi))) *
      exp(stirling(s) - stirling(p) - stirling(q) + lost_in_sum(s, -q, p) * (log(s / p) - 1.));
  // Γ(n + 1) / (Γ(above + 1) Γ(m + 1)), where the larger of `above` and m, or the smaller, is n - k.
  const Array m = where(both, 1., less), above = where(both, 30., where(k < rest, rest, k));
  const Array slope = where(k < rest, log1p(m / (above + 1.)), log((n + 1.) / (m + 1.)));
  const Array few = poch(above + 1., m) / gamma(m + 1.) * (1. + lost_in_sum(n, -k, rest) * slope);
  return where(both, large, few);
}

Array comb_inside(const Array& n, const Array& k) {
  const Array by_k = is_small_integer(k), m = where(by_k, k, n - k),
              short_product = by_k || is_small_integer(m);
  const Array rest = n - m, whole = n == floor(n);  // then each product is a number of choices
  Array product = ones_like(n);
  for (int i = 1; i <= factors; ++i) {
    const Array next = product * (rest + double(i)) / double(i);
    product = where(m >= double(i), where(whole, round(next), next), product);
  }
  return where(short_product, product, long_comb(where(short_product, 60., n), where(short_product, 30., k)));
}

Array perm_inside(const Array& n, const Array& k) {
  const Array short_product = is_small_integer(k), rest = n - k;
  Array product = ones_like(n);
  for (int i = 1; i <= factors; ++i) product = where(k >= double(i), product * (rest + double(i)), product);
  return where(short_product, product,
               poch(where(short_product, 1., rest + 1.), where(short_product, 1., k)));
}

// Products of as many factors as k have no derivative by k: the rules give it, by ψ.

Array comb_of(const Array& n, const Array& k) {
  return custom_jvp(comb_inside, [](const Two& at, const Two& along) {
    const auto& [n0, k0] = at;
    const auto& [dn, dk] = along;
    const Array y = comb_of(n0, k0), by_n = digamma_rise(n0 - k0 + 1., k0);
    return std::pair{y, y * (dn * by_n + dk * (digamma(n0 - k0 + 1.) - digamma(k0 + 1.)))};
  })(n, k);
}

Array perm_of(const Array& n, const Array& k) {
  return custom_jvp(perm_inside, [](const Two& at, const Two& along) {
    const auto& [n0, k0] = at;
    const auto& [dn, dk] = along;
    const Array y = perm_of(n0, k0), by_n = digamma_rise(n0 - k0 + 1., k0);
    return std::pair{y, y * (dn * by_n + dk * digamma(n0 - k0 + 1.))};
  })(n, k);
}

/// f where 0 ≤ k ≤ n, else 0.
template <class F>
Array of_choices(const Array& n, const Array& k, const F& f) {
  const Array inside = is_choice(n, k);
  return where(isnan(n) || isnan(k), NAN, where(inside, f(where(inside, n, 1.), where(inside, k, 0.)), 0.));
}

}  // namespace

Array comb(const Array& n, const Array& k, const CombOptions& options, Loc loc) {
  const LocScope place(loc);
  return in_f64("comb", {n, k}, [&](const auto& v) {
    if (!options.repetition) return of_choices(v[0], v[1], comb_of);
    const Array none = v[1] == 0 && v[0] >= 0, chosen = where(none, 1., v[1]);
    return where(none, 1., of_choices(v[0] + (chosen - 1.), chosen, comb_of));
  });
}
Array comb(const Array& n, const Array& k, Loc loc) { return comb(n, k, {}, loc); }

Array perm(const Array& n, const Array& k, Loc loc) {
  const LocScope place(loc);
  return in_f64("perm", {n, k}, [](const auto& v) { return of_choices(v[0], v[1], perm_of); });
}

// |B₂ₖ| = 2 (2k)! ζ(2k) / (2π)²ᵏ (DLMF 25.6.2), in long double: rounded to the nearest f64.
Array bernoulli(std::int64_t n, Dtype dtype, Loc loc) {
  const LocScope place(loc);
  check_count("bernoulli", n);
  check_dtype("bernoulli", is_floating(dtype), "a floating dtype", zeros({}, dtype));
  constexpr double first[] = {1, 1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66};
  constexpr long double circle = 4 * std::numbers::pi_v<long double> * std::numbers::pi_v<long double>;
  std::vector<double> numbers(static_cast<std::size_t>(n) + 1);
  long double factor = -2;
  for (std::size_t k = 0; k < numbers.size(); k += 2) {
    const auto j = static_cast<long double>(k);
    if (k > 0) factor *= -j * (j - 1) / circle;
    long double zeta = 0;
    for (int i = 64; i > 0; --i) zeta += std::pow(static_cast<long double>(i), -j);
    numbers[k] = k < 12 ? first[k / 2] : static_cast<double>(factor * zeta);
  }
  if (n > 0) numbers[1] = -0.5;
  return astype(array(std::span<const double>(numbers), {n + 1}), dtype);
}

Array loggamma(const Array& x, Loc loc) {
  const LocScope place(loc);
  return widened("loggamma", x, [](const Array& v) {
    const Array real = !(v < 0);
    return where(real, lgamma(where(real, v, 1.)), NAN);
  });
}

namespace {

/// (-1)ⁿ⁺¹ n! ζ(n + 1, x) (DLMF 5.15.1).
Array polygamma_of(const Array& n, const Array& x) {
  const auto value = [](const Array& order, const Array& v) {
    const Array derived = order > 0 && order == floor(order), m = where(derived, order, 1.);
    const Array y = gamma(m + 1.) * zeta(m + 1., where(derived, v, 1.));
    const Array itself = digamma(where(derived, 1., v));
    return where(derived, where(fmod(m, 2) == 0, -y, y), where(order == 0, itself, NAN));
  };
  return custom_jvp(value, [](const Two& at, const Two& along) {
    const auto& [order, v] = at;
    return std::pair{polygamma_of(order, v), std::get<1>(along) * polygamma_of(order + 1., v)};
  })(n, x);
}

}  // namespace

Array polygamma(const Array& n, const Array& x, Loc loc) {
  const LocScope place(loc);
  return in_f64("polygamma", {nondifferentiable(n, "the order of polygamma"), x},
                [](const auto& v) { return polygamma_of(v[0], v[1]); });
}

}  // namespace apsis::special
