// Eigenvalues, singular values, functions and equations of small matrices whose eigenvalues are far apart.

#include <algorithm>
#include <cmath>

#include "apsis/ops/banded_lu.hpp"
#include "compositions/matrix.hpp"
#include "compositions/rows.hpp"

namespace apsis::compositions {
namespace {

// Near the diagonal 3, 6, 9, …, so that the eigenvalues lie in discs that do not meet, and the eigenvectors
// near the axes.

constexpr double step = 3, off_diagonal = 0.25;

Array apart(const Array& a) {
  return off_diagonal * apsis::tanh(a) + diag(step * astype(arange(1, a.dim(0) + 1), a.dtype()));
}
Matrix apart(const Tensor& a) {
  Matrix m(static_cast<std::size_t>(a.shape[0]));
  for (std::size_t i = 0; i < m.entries.size(); ++i)
    m.entries[i] = Number(off_diagonal) * tanh(a.elements[i]);
  for (std::size_t i = 0; i < m.n; ++i)
    m.at(i, i) = m.at(i, i) + Number(step * static_cast<long double>(i + 1));
  return m;
}
Array symmetric(const Array& a) {
  const Array m = apart(a);
  return 0.5 * (m + matrix_transpose(m));
}
Matrix symmetric(const Tensor& a) {
  const Matrix m = apart(a);
  Matrix s(m.n);
  for (std::size_t i = 0; i < m.n; ++i)
    for (std::size_t j = 0; j < m.n; ++j) s.at(i, j) = Number(0.5L) * (m.at(i, j) + m.at(j, i));
  return s;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix m(a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j)
      for (std::size_t k = 0; k < a.n; ++k) m.at(i, j) = m.at(i, j) + a.at(i, k) * b.at(k, j);
  return m;
}
Matrix identity(std::size_t n) {
  Matrix m(n);
  for (std::size_t i = 0; i < n; ++i) m.at(i, i) = Number(1);
  return m;
}
Matrix inverse(const Matrix& a) {
  Matrix m(a.n);
  for (std::size_t j = 0; j < a.n; ++j) {
    Tensor unit{Shape{static_cast<std::int64_t>(a.n)}, std::vector<Number>(a.n)};
    unit.elements[j] = Number(1);
    const Tensor column = solved(a, unit);
    for (std::size_t i = 0; i < a.n; ++i) m.at(i, j) = column.elements[i];
  }
  return m;
}

/// Eigenvalues of a symmetric matrix, and the vectors with a positive diagonal, as columns: by Jacobi's
/// rotations, whose convergence is that of all derivatives, too.
struct Spectrum {
  std::vector<Number> values;
  Matrix vectors;
};
Spectrum spectrum(Matrix a) {
  Matrix v = identity(a.n);
  for (int sweep = 0; sweep < 8; ++sweep)
    for (std::size_t p = 0; p < a.n; ++p)
      for (std::size_t q = p + 1; q < a.n; ++q) {
        const Number gap = a.at(q, q) - a.at(p, p), twice = a.at(p, q) + a.at(p, q);
        const Number tangent = twice / (gap + sqrt(gap * gap + twice * twice));
        const Number cosine = reciprocal(sqrt(Number(1) + tangent * tangent)), sine = tangent * cosine;
        const auto rotate = [&](Number& x, Number& y) {
          const Number x_was = x;
          x = cosine * x - sine * y;
          y = sine * x_was + cosine * y;
        };
        for (std::size_t k = 0; k < a.n; ++k) rotate(a.at(k, p), a.at(k, q));
        for (std::size_t k = 0; k < a.n; ++k) rotate(a.at(p, k), a.at(q, k));
        for (std::size_t k = 0; k < a.n; ++k) rotate(v.at(k, p), v.at(k, q));
      }
  Spectrum s{{}, v};
  for (std::size_t i = 0; i < a.n; ++i) s.values.push_back(a.at(i, i));
  return s;
}

/// eᴬ by its series, for A of small norm.
Matrix exponential(const Matrix& a) {
  Matrix sum = identity(a.n), term = sum;
  for (int k = 1; k < 40; ++k) {
    term = product(term, a);
    for (Number& e : term.entries) e = e * Number(1 / static_cast<long double>(k));
    for (std::size_t i = 0; i < sum.entries.size(); ++i) sum.entries[i] = sum.entries[i] + term.entries[i];
  }
  return sum;
}
Matrix scaled(Matrix a, long double factor) {
  for (Number& e : a.entries) e = e * Number(factor);
  return a;
}
constexpr double scale = 0.125;

/// The root by Denman's and Beavers' iteration.
Matrix root(const Matrix& a) {
  Matrix y = a, z = identity(a.n);
  for (int i = 0; i < 12; ++i) {
    const Matrix of_y = inverse(y), of_z = inverse(z);
    for (std::size_t k = 0; k < y.entries.size(); ++k) {
      y.entries[k] = Number(0.5L) * (y.entries[k] + of_z.entries[k]);
      z.entries[k] = Number(0.5L) * (z.entries[k] + of_y.entries[k]);
    }
  }
  return y;
}

/// X with A·X + X·B = C, as a system of n² equations.
Tensor sylvester(const Matrix& a, const Matrix& b, const Tensor& c) {
  Matrix m(a.n * a.n);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j)
      for (std::size_t k = 0; k < a.n; ++k) {
        Number& left = m.at(i * a.n + j, k * a.n + j);
        left = left + a.at(i, k);
        Number& right = m.at(i * a.n + j, i * a.n + k);
        right = right + b.at(k, j);
      }
  return solved(m, c);
}

Tensor without_derivative(Tensor x) {
  for (Number& e : x.elements) e = Number(e.value());
  return x;
}

bool choose_equation(Random& random, const Shape& first, std::vector<double>& numbers, Shapes& others) {
  others = {first, first};
  return choose_matrix(random, first, numbers, others) && first[0] <= 3;
}
bool choose_diagonals(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  others = {first, first};
  return first.size() == 1 && first[0] <= 12;
}

/// Far from singular: the diagonal below of `lower`, the others of `upper`.
Matrix three_diagonals(const Tensor& lower, const Tensor& upper) {
  Matrix m(upper.elements.size());
  for (std::size_t i = 0; i < m.n; ++i) {
    m.at(i, i) = Number(3) + upper.elements[i] * upper.elements[i];
    if (i > 0) m.at(i, i - 1) = tanh(lower.elements[i]);
    if (i + 1 < m.n) m.at(i, i + 1) = sin(upper.elements[i]);
  }
  return m;
}
bool choose_bands(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  others = {first};
  return first.size() == 1 && first[0] >= 2 && first[0] <= 12;
}

const ArrayOp table[] = {
    {"eigenvalues_symmetric", choose_matrix,
     [](Arrays x, Statics, const Array&) { return linalg::eigvalsh(symmetric(x[0])); }, false, nullptr,
     [](Tensors x, Statics) {
       return Tensor{Shape{x[0].shape[0]}, spectrum(symmetric(x[0])).values};
     }},
    {"eigenvectors_symmetric", choose_matrix,
     [](Arrays x, Statics, const Array&) {
       const Array v = linalg::eigh(symmetric(x[0])).eigenvectors;
       return v * sign(linalg::diagonal(v));
     },
     false, nullptr, [](Tensors x, Statics) { return spectrum(symmetric(x[0])).vectors.tensor(); }},
    {"singular_values", choose_matrix,
     [](Arrays x, Statics, const Array&) { return linalg::svdvals(apart(x[0])); }, false, nullptr,
     [](Tensors x, Statics) {
       Tensor r{Shape{x[0].shape[0]}, spectrum(square(apart(x[0]), true)).values};
       for (Number& e : r.elements) e = sqrt(e);
       std::ranges::reverse(r.elements);
       return r;
     }},
    // U·Vᵀ = A·(AᵀA)^-½.
    {"singular_vectors", choose_matrix,
     [](Arrays x, Statics, const Array&) {
       const auto [u, s, vh] = linalg::svd(apart(x[0]), {.full_matrices = false});
       return matmul(u, vh);
     },
     false, nullptr,
     [](Tensors x, Statics) {
       const Matrix a = apart(x[0]);
       const Spectrum s = spectrum(square(a, true));
       Matrix v = s.vectors;
       for (std::size_t i = 0; i < v.n; ++i)
         for (std::size_t j = 0; j < v.n; ++j) v.at(i, j) = v.at(i, j) / sqrt(s.values[j]);
       return product(a, product(v, transposed(s.vectors))).tensor();
     }},
    {"pseudo_inverse", choose_matrix,
     [](Arrays x, Statics, const Array&) { return linalg::pinv(apart(x[0])); }, false, nullptr,
     [](Tensors x, Statics) { return inverse(apart(x[0])).tensor(); }},
    {"sum_of_exp_eigenvalues", choose_matrix,
     [](Arrays x, Statics, const Array&) { return sum(real(exp(scale * linalg::eigvals(apart(x[0]))))); },
     false, nullptr,
     [](Tensors x, Statics) {
       const Matrix e = exponential(scaled(apart(x[0]), scale));
       Number sum(0);
       for (std::size_t i = 0; i < e.n; ++i) sum = sum + e.at(i, i);
       return Tensor{{}, {sum}};
     }},
    {"exp_by_eigenvectors", choose_matrix,
     [](Arrays x, Statics, const Array&) {
       const auto [values, vectors] = linalg::eig(apart(x[0]));
       return real(matmul(vectors * exp(scale * values), linalg::inv(vectors)));
     },
     false, nullptr, [](Tensors x, Statics) { return exponential(scaled(apart(x[0]), scale)).tensor(); }},
    {"expm", choose_matrix, [](Arrays x, Statics, const Array&) { return linalg::expm(scale * apart(x[0])); },
     false, nullptr, [](Tensors x, Statics) { return exponential(scaled(apart(x[0]), scale)).tensor(); }},
    {"sqrtm", choose_matrix, [](Arrays x, Statics, const Array&) { return real(linalg::sqrtm(apart(x[0]))); },
     false, nullptr, [](Tensors x, Statics) { return root(apart(x[0])).tensor(); }},
    {"schur", choose_matrix,
     [](Arrays x, Statics, const Array&) {
       const auto [t, z] = linalg::schur(apsis::stop_gradient(apart(x[0])));
       return matmul(z, matmul(t, matrix_transpose(z)));
     },
     false, nullptr, [](Tensors x, Statics) { return without_derivative(apart(x[0]).tensor()); }},
    {"hessenberg", choose_matrix,
     [](Arrays x, Statics, const Array&) {
       const auto [h, q] = linalg::hessenberg(apsis::stop_gradient(apart(x[0])));
       return matmul(q, matmul(h, matrix_transpose(q)));
     },
     false, nullptr, [](Tensors x, Statics) { return without_derivative(apart(x[0]).tensor()); }},
    {"sylvester", choose_equation,
     [](Arrays x, Statics, const Array&) { return linalg::solve_sylvester(apart(x[1]), apart(x[2]), x[0]); },
     false, nullptr, [](Tensors x, Statics) { return sylvester(apart(x[1]), apart(x[2]), x[0]); }},
    {"solve_columns", choose_matrix,
     [](Arrays x, Statics, const Array&) { return linalg::solve_columns(apart(x[0]), symmetric(x[0])); },
     false, nullptr,
     [](Tensors x, Statics) { return product(inverse(apart(x[0])), symmetric(x[0])).tensor(); }},
    {"tridiagonal", choose_diagonals,
     [](Arrays x, Statics, const Array&) {
       const Array d = 3. + square(x[2]);
       return squeeze(linalg::tridiagonal_solve(apsis::tanh(x[1]), d, apsis::sin(x[2]), expand_dims(x[0], 1)),
                      {1});
     },
     false, nullptr, [](Tensors x, Statics) { return solved(three_diagonals(x[1], x[2]), x[0]); }},
    {"band_factors", choose_bands,
     [](Arrays x, Statics, const Array&) {
       const Array a = apsis::stop_gradient(x[1]);
       const std::int64_t n = a.size();
       const Array entries = concatenate(
                       {3. + square(a), apsis::tanh(a)[range(1, n)], apsis::sin(a)[range(0, n - 1)]}),
                   places = concatenate({n + arange(n), 2 * n + arange(n - 1), 1 + arange(n - 1)});
       const linalg::Bandwidths widths{1, 1};
       return apsis::detail::banded_lu_solve(widths, apsis::detail::banded_lu(n, widths, entries, places),
                                             arange(n), x[0]);
     },
     false, nullptr,
     [](Tensors x, Statics) {
       const Tensor a = without_derivative(x[1]);
       return solved(three_diagonals(a, a), x[0]);
     }},
};

}  // namespace

std::span<const ArrayOp> spectral_ops() { return table; }

}  // namespace apsis::compositions
