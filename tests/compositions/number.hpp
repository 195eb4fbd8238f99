#pragma once

// Numbers with exact derivatives: the oracle's arithmetic, which shares nothing with Apsis.
//
// A Number is an element of R[e0, e1, …] / (e0², e1², …): one coefficient for each set of the e's, as a bit
// mask. With x + e_k in the place of x, the coefficient of e_k is the derivative; nested derivatives take one
// e each. (Multi-dual, or hyper-dual, numbers: Fike & Alonso, "The development of hyper-dual numbers", AIAA
// 2011-886.) Long double keeps the oracle's own rounding out of the comparison.

#include <array>
#include <cstddef>

namespace apsis::compositions {

inline constexpr int max_order = 4;

struct Number {
  std::array<long double, 1 << max_order> c{};      // c[mask]; those of masks not in use are 0
  std::array<long double, 1 << max_order> error{};  // by how much the same computation in double may be
                                                    // off in each, to first order
  Number() = default;
  Number(long double value) { c[0] = value; }
  long double value() const { return c[0]; }
};

/// What the oracle keeps account of while it runs.
struct Account {
  int order = 0;            // e's in use
  std::size_t work = 0;     // coefficients computed so far
  std::size_t limit = 0;    // beyond it, TooCostly is thrown
  long double largest = 0;  // of all coefficients met
  long double error = 0;    // the largest of all coefficients met
  bool ambiguous = false;   // a decision between equal values whose derivatives differ
};
struct TooCostly {};
extern constinit thread_local Account account;

Number operator+(const Number& a, const Number& b);
Number operator-(const Number& a, const Number& b);
Number operator-(const Number& a);
Number operator*(const Number& a, const Number& b);
Number operator/(const Number& a, const Number& b);
Number reciprocal(const Number& a);
Number sin(const Number& a);
Number cos(const Number& a);
Number exp(const Number& a);
Number log(const Number& a);
Number sqrt(const Number& a);
Number tanh(const Number& a);
Number atan(const Number& a);
Number erf(const Number& a);
/// For a > 0: the logarithm of Γ(a), and its derivative of order n + 1.
Number lgamma(const Number& a);
Number polygamma(int n, const Number& a);

/// a < b, noting a tie between numbers whose derivatives differ.
bool less(const Number& a, const Number& b);

}  // namespace apsis::compositions
