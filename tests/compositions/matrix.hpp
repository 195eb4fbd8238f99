#pragma once

// Matrices of the oracle's numbers.

#include <cstddef>
#include <vector>

#include "compositions/ops.hpp"

namespace apsis::compositions {

/// The operand is a square matrix.
inline bool choose_matrix(Random&, const Shape& first, std::vector<double>&, std::vector<Shape>&) {
  return first.size() == 2 && first[0] == first[1] && first[0] <= 6;
}
/// Right sides, then a matrix.
inline bool choose_system(Random&, const Shape& first, std::vector<double>&, std::vector<Shape>& others) {
  if (first.size() != 1 || first[0] > 6) return false;
  others = {Shape{first[0], first[0]}};
  return true;
}

struct Matrix {
  std::size_t n;
  std::vector<Number> entries;
  explicit Matrix(std::size_t side) : n(side), entries(side * side) {}
  Number& at(std::size_t i, std::size_t j) { return entries[i * n + j]; }
  const Number& at(std::size_t i, std::size_t j) const { return entries[i * n + j]; }
  Tensor tensor() const {
    const auto side = static_cast<std::int64_t>(n);
    return {Shape{side, side}, entries};
  }
};

/// Far from singular whatever the entries of a are: bounded ones and a large diagonal.
inline Matrix bounded(const Tensor& a) {
  Matrix m(static_cast<std::size_t>(a.shape[0]));
  for (std::size_t i = 0; i < m.entries.size(); ++i) m.entries[i] = tanh(a.elements[i]);
  for (std::size_t i = 0; i < m.n; ++i) m.at(i, i) = m.at(i, i) + Number(static_cast<long double>(m.n) + 1);
  return m;
}
/// A·Aᵀ, or Aᵀ·A.
inline Matrix square(const Matrix& a, bool transposed_first) {
  Matrix m(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j)
      for (std::size_t k = 0; k < a.n; ++k)
        m.at(i, j) = m.at(i, j) + (transposed_first ? a.at(k, i) * a.at(k, j) : a.at(i, k) * a.at(j, k));
  return m;
}
inline Matrix transposed(const Matrix& a) {
  Matrix m(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j) m.at(i, j) = a.at(j, i);
  return m;
}

/// By Gauss and Jordan.
inline Tensor solved(Matrix a, Tensor x) {
  for (std::size_t k = 0; k < a.n; ++k)
    for (std::size_t i = 0; i < a.n; ++i) {
      if (i == k) continue;
      const Number factor = a.at(i, k) / a.at(k, k);
      for (std::size_t j = k; j < a.n; ++j) a.at(i, j) = a.at(i, j) - factor * a.at(k, j);
      x.elements[i] = x.elements[i] - factor * x.elements[k];
    }
  for (std::size_t k = 0; k < a.n; ++k) x.elements[k] = x.elements[k] / a.at(k, k);
  return x;
}

}  // namespace apsis::compositions
