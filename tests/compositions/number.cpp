#include "compositions/number.hpp"

#include <algorithm>
#include <cmath>

namespace apsis::compositions {

constinit thread_local Account account;

namespace {

std::size_t masks() { return std::size_t{1} << account.order; }

constexpr long double rounding = 0x1p-53L;

/// Adds the rounding of the operation to the errors that come from its operands.
Number noted(Number a) {
  if ((account.work += masks()) > account.limit) throw TooCostly{};
  for (std::size_t m = 0; m < masks(); ++m) {
    a.error[m] += rounding * std::abs(a.c[m]);
    account.error = std::max(account.error, a.error[m]);
    account.largest = std::max(account.largest, std::abs(a.c[m]));
  }
  return a;
}

/// f(a) by Taylor's formula, which ends: the part of a without its value is nilpotent. `d(j)` is the j-th
/// derivative of f at the value of a.
template <class D>
Number lifted(const Number& a, D&& d) {
  Number nilpotent = a, power(1), sum(d(0));
  nilpotent.c[0] = nilpotent.error[0] = 0;
  long double factorial = 1, slope = d(1);
  sum.error[0] = std::abs(slope) * a.error[0];
  for (int j = 1; j <= account.order; ++j) {
    power = power * nilpotent;
    factorial *= j;
    const long double next = d(j + 1);
    for (std::size_t m = 1; m < masks(); ++m) {
      sum.c[m] += slope / factorial * power.c[m];
      sum.error[m] +=
          (std::abs(slope) * power.error[m] + std::abs(next) * a.error[0] * std::abs(power.c[m])) / factorial;
    }
    slope = next;
  }
  return noted(sum);
}

/// xᵖ.
Number power(const Number& a, long double p) {
  return lifted(a, [&](int j) {
    long double falling = 1;
    for (int i = 0; i < j; ++i) falling *= p - i;
    return falling * std::pow(a.c[0], p - j);
  });
}

/// ψ⁽ⁿ⁾(x) for x > 0, by its recurrence up to a large argument and the asymptotic series there (DLMF 5.15.8).
long double polygamma_of(int n, long double x) {
  constexpr long double bernoulli[] = {1 / 6.L,  -1 / 30.L,     1 / 42.L, -1 / 30.L,
                                       5 / 66.L, -691 / 2730.L, 7 / 6.L};
  const long double sign = n % 2 == 0 ? -1 : 1;
  long double factorial = 1, sum = 0;  // n!
  for (int i = 2; i <= n; ++i) factorial *= i;
  for (; x < 40; x += 1) sum += factorial / std::pow(x, n + 1);
  sum += n == 0 ? -std::log(x) : factorial / n / std::pow(x, n);
  sum += factorial / (2 * std::pow(x, n + 1));
  long double rising = factorial * (n + 1) / 2;  // (2k + n - 1)! / (2k)!
  for (int k = 1; k <= 7; ++k) {
    sum += bernoulli[k - 1] * rising / std::pow(x, 2 * k + n);
    rising *= static_cast<long double>(2 * k + n) * (2 * k + n + 1) / ((2 * k + 1) * (2 * k + 2));
  }
  return sign * sum;
}

}  // namespace

Number operator+(const Number& a, const Number& b) {
  Number r;
  for (std::size_t m = 0; m < masks(); ++m) {
    r.c[m] = a.c[m] + b.c[m];
    r.error[m] = a.error[m] + b.error[m];
  }
  return noted(r);
}
Number operator-(const Number& a, const Number& b) { return a + -b; }
Number operator-(const Number& a) {
  Number r;
  for (std::size_t m = 0; m < masks(); ++m) r.c[m] = -a.c[m];
  r.error = a.error;
  return r;
}
Number operator*(const Number& a, const Number& b) {
  Number r;
  for (std::size_t m = 0; m < masks(); ++m) {
    for (std::size_t s = m;; s = (s - 1) & m) {  // the subsets of m
      r.c[m] += a.c[s] * b.c[m ^ s];
      r.error[m] += std::abs(a.c[s]) * b.error[m ^ s] + std::abs(b.c[m ^ s]) * a.error[s];
      if (s == 0) break;
    }
  }
  return noted(r);
}
Number operator/(const Number& a, const Number& b) { return a * reciprocal(b); }
Number reciprocal(const Number& a) { return power(a, -1); }
Number sqrt(const Number& a) { return power(a, 0.5L); }
Number sin(const Number& a) {
  const long double table[] = {std::sin(a.c[0]), std::cos(a.c[0]), -std::sin(a.c[0]), -std::cos(a.c[0])};
  return lifted(a, [&](int j) { return table[j % 4]; });
}
Number cos(const Number& a) {
  const long double table[] = {std::cos(a.c[0]), -std::sin(a.c[0]), -std::cos(a.c[0]), std::sin(a.c[0])};
  return lifted(a, [&](int j) { return table[j % 4]; });
}
Number exp(const Number& a) {
  const long double value = std::exp(a.c[0]);
  return lifted(a, [&](int) { return value; });
}
Number log(const Number& a) {
  return lifted(a, [&](int j) {
    if (j == 0) return std::log(a.c[0]);
    long double d = 1 / a.c[0];
    for (int i = 1; i < j; ++i) d *= -i / a.c[0];
    return d;
  });
}
Number tanh(const Number& a) {
  // The derivatives of tanh are polynomials in t = tanh: p₀ = t, p' = (1 - t²) dp/dt.
  const long double t = std::tanh(a.c[0]);
  std::array<long double, max_order + 3> p{0, 1};
  return lifted(a, [&](int j) {
    if (j > 0) {
      std::array<long double, max_order + 3> next{};
      for (std::size_t i = 1; i + 1 < p.size(); ++i) {
        next[i - 1] += static_cast<long double>(i) * p[i];
        next[i + 1] -= static_cast<long double>(i) * p[i];
      }
      p = next;
    }
    long double value = 0;
    for (std::size_t i = p.size(); i-- > 0;) value = value * t + p[i];
    return value;
  });
}
Number atan(const Number& a) {
  // At x = tan φ the j-th derivative is (j - 1)! cosʲφ sin j(φ + π/2).
  const long double angle = std::atan(a.c[0]), right = std::acos(-1.L) / 2;
  return lifted(a, [&](int j) {
    return j == 0 ? angle
                  : std::tgamma(static_cast<long double>(j)) * std::pow(std::cos(angle), j) *
                        std::sin(j * (angle + right));
  });
}
Number erf(const Number& a) {
  const long double x = a.c[0], slope = 2 / std::sqrt(std::acos(-1.L)) * std::exp(-x * x);
  return lifted(a, [&](int j) {
    if (j == 0) return std::erf(x);
    return (j % 2 == 1 ? slope : -slope) * std::hermite(static_cast<unsigned>(j) - 1, x);
  });
}
Number lgamma(const Number& a) {
  return lifted(a, [&](int j) { return j == 0 ? std::lgamma(a.c[0]) : polygamma_of(j - 1, a.c[0]); });
}
Number polygamma(int n, const Number& a) {
  return lifted(a, [&](int j) { return polygamma_of(n + j, a.c[0]); });
}

bool less(const Number& a, const Number& b) {
  const long double gap = std::abs(a.c[0] - b.c[0]);
  // Closer than rounding can tell apart: another evaluation may decide otherwise.
  if (gap <= 1e-9L * std::max(1.L, std::abs(a.c[0])))
    for (std::size_t m = 0; m < masks(); ++m)
      if (std::abs(a.c[m] - b.c[m]) > 0) account.ambiguous = true;
  return a.c[0] < b.c[0];
}

}  // namespace apsis::compositions
