#pragma once

// Linear algebra as users write it where the library has none: loops over columns of a carried matrix.

#include <apsis/apsis.hpp>

namespace apsis::scenarios {

/// L with L Lᵀ = a, by columns; NaN where a is not positive definite.
inline Array cholesky(const Array& a, Loc loc = Loc::here()) {
  const std::int64_t n = a.dim(0);
  Array rows = arange(n);
  return fori_loop(
      0, n,
      [&](const Array& j, const Array& l) {
        Array row = l[j];
        Array column = a(range(), j) - matmul(l, row);
        column = column / sqrt(column[j]);
        return l.at(range(), j).set(where(rows >= j, column, 0.));
      },
      zeros_like(a), {}, loc);
}

/// x with L x = b for a lower triangular L.
inline Array solve_lower(const Array& l, const Array& b) {
  const std::int64_t n = l.dim(0);
  return fori_loop(
      0, n, [&](const Array& i, const Array& x) { return x.at(i).set((b[i] - dot(l[i], x)) / l(i, i)); },
      zeros_like(b));
}

/// x with Lᵀ x = b.
inline Array solve_upper(const Array& l, const Array& b) {
  const std::int64_t n = l.dim(0);
  return fori_loop(
      0, n,
      [&](const Array& k, const Array& x) {
        Array i = n - 1 - k;
        return x.at(i).set((b[i] - dot(l(range(), i), x)) / l(i, i));
      },
      zeros_like(b));
}

/// x with a x = b for a positive definite a.
inline Array solve_positive(const Array& a, const Array& b) {
  Array l = cholesky(a);
  return solve_upper(l, solve_lower(l, b));
}

/// x with a x = b, by elimination with row exchanges.
inline Array solve_general(const Array& a, const Array& b) {
  struct Step {
    Array a, b;
  };
  const std::int64_t n = a.dim(0);
  Array rows = arange(n);
  Step end = fori_loop(
      0, n,
      [&](const Array& k, const Step& s) {
        Array pivot = argmax(where(rows >= k, abs(s.a(range(), k)), -1.));
        Array order = where(rows == k, pivot, where(rows == pivot, k, rows));
        Array m = take(s.a, order, 0), v = take(s.b, order, 0);
        Array factor = where(rows == k, 0., m(range(), k) / m(k, k));
        return Step{m - outer(factor, m[k]), v - factor * v[k]};
      },
      Step{a, b});
  return end.b / diag(end.a);
}

}  // namespace apsis::scenarios
