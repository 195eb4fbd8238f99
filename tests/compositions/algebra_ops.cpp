// Factorisations and solves of small matrices, Fourier transforms, and complex numbers between real ones.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "compositions/matrix.hpp"
#include "compositions/rows.hpp"

namespace apsis::compositions {
namespace {

bool choose_lines(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  others = {first};
  return !first.empty() && first.back() <= 16 && first.product() <= 64;
}
bool choose_line(Random& random, const Shape& first, std::vector<double>& numbers, Shapes& others) {
  const bool may = choose_lines(random, first, numbers, others);
  others.clear();
  return may;
}
bool choose_pair(Random&, const Shape& first, std::vector<double>&, Shapes& others) {
  others = {first};
  return true;
}

// Matrices far from singular of any entries: bounded ones with a large diagonal. The rows of the other way
// round need an exchange at every step, after which they are in order.

Array bounded(const Array& a) { return apsis::tanh(a) + (a.dim(0) + 1.) * eye(a.dim(0), -1, 0, a.dtype()); }
Array turned_round(const Array& a) { return flip(bounded(a), 0); }
Array positive(const Array& a) {
  const Array b = apsis::tanh(a);
  return matmul(b, matrix_transpose(b)) + eye(a.dim(0), -1, 0, a.dtype());
}
/// The factors whose R has a positive diagonal.
linalg::QRResult positive_qr(const Array& a) {
  const auto [q, r] = linalg::qr(bounded(a));
  const Array signs = sign(linalg::diagonal(r));
  return {q * signs, r * expand_dims(signs, 1)};
}

// Complex matrices D·A·Dᴴ with |dᵢ| = 1, whose solutions and factors are those of A between D and Dᴴ.

Array phases(const Array& a) {
  const Array turns = astype(arange(a.dim(-1)), a.dtype());
  return complex(cos(turns), sin(turns));
}
Array spun(const Array& a) {
  const Array d = phases(a);
  return expand_dims(d, 1) * a * conj(d);
}
Array unspun(const Array& a) {
  const Array d = phases(real(a));
  return real(expand_dims(conj(d), 1) * a * d);
}

Matrix positive(const Tensor& a) {
  Matrix b(static_cast<std::size_t>(a.shape[0]));
  for (std::size_t i = 0; i < b.entries.size(); ++i) b.entries[i] = tanh(a.elements[i]);
  Matrix m = square(b, false);
  for (std::size_t i = 0; i < m.n; ++i) m.at(i, i) = m.at(i, i) + Number(1);
  return m;
}
/// L and U by Crout's sums, without exchanges.
Matrix factored(const Matrix& a) {
  Matrix m = a;
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j) {
      for (std::size_t k = 0; k < std::min(i, j); ++k) m.at(i, j) = m.at(i, j) - m.at(i, k) * m.at(k, j);
      if (j < i) m.at(i, j) = m.at(i, j) / m.at(j, j);
    }
  return m;
}
Matrix lower_root(const Matrix& a) {
  Matrix l(a.n);
  for (std::size_t j = 0; j < a.n; ++j)
    for (std::size_t i = j; i < a.n; ++i) {
      Number sum = a.at(i, j);
      for (std::size_t k = 0; k < j; ++k) sum = sum - l.at(i, k) * l.at(j, k);
      l.at(i, j) = i == j ? sqrt(sum) : sum / l.at(j, j);
    }
  return l;
}
/// With the lower triangle of the transpose.
Tensor solved_by_lower(Tensors x, Statics) {
  Matrix a = transposed(bounded(x[1]));
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = i + 1; j < a.n; ++j) a.at(i, j) = Number(0);
  return solved(a, x[0]);
}
Tensor solved_bounded(Tensors x, Statics) { return solved(bounded(x[1]), x[0]); }
Tensor upper_factor(Tensors x, Statics) {
  return transposed(lower_root(square(bounded(x[0]), true))).tensor();
}
Tensor reversed(Tensor x) {
  std::ranges::reverse(x.elements);
  return x;
}

/// Calls line(elements of the operands, elements of the result) for each last axis.
template <class Line>
Tensor by_lines(Tensors in, const Line& line) {
  Tensor r{in[0].shape, std::vector<Number>(in[0].elements.size())};
  const auto n = static_cast<std::size_t>(r.shape.back());
  for (std::size_t first = 0; first < r.elements.size(); first += n) {
    std::vector<const Number*> from;
    for (const Tensor& t : in) from.push_back(t.elements.data() + first);
    line(n, from, r.elements.data() + first);
  }
  return r;
}

const ArrayOp table[] = {
    {"matrix_solve", choose_system,
     [](Arrays x, Statics, const Array&) { return linalg::solve(turned_round(x[1]), x[0]); }, false, nullptr,
     [](Tensors x, Statics) { return solved(bounded(x[1]), reversed(x[0])); }},
    {"lu", choose_matrix,
     [](Arrays x, Statics, const Array&) { return linalg::lu_factor(turned_round(x[0])).lu; }, false, nullptr,
     [](Tensors x, Statics) { return factored(bounded(x[0])).tensor(); }},
    {"lu_solve_transposed", choose_system,
     [](Arrays x, Statics, const Array&) {
       return linalg::lu_solve(linalg::lu_factor(turned_round(x[1])), x[0], true);
     },
     false, nullptr, [](Tensors x, Statics) { return reversed(solved(transposed(bounded(x[1])), x[0])); }},
    {"cholesky", choose_matrix,
     [](Arrays x, Statics, const Array&) { return linalg::cholesky(positive(x[0])); }, false, nullptr,
     [](Tensors x, Statics) { return lower_root(positive(x[0])).tensor(); }},
    {"cho_solve", choose_system,
     [](Arrays x, Statics, const Array&) {
       return linalg::cho_solve(linalg::cho_factor(positive(x[1]), {.lower = true}), x[0]);
     },
     false, nullptr, [](Tensors x, Statics) { return solved(positive(x[1]), x[0]); }},
    {"solve_triangular", choose_system,
     [](Arrays x, Statics, const Array&) {
       return linalg::solve_triangular(bounded(x[1]), x[0], {.transpose = true, .lower = false});
     },
     false, nullptr, solved_by_lower},
    {"qr_r", choose_matrix, [](Arrays x, Statics, const Array&) { return positive_qr(x[0]).r; }, false,
     nullptr, upper_factor},
    // Qᵀ·b: Rᵀ·x = Aᵀ·b.
    {"qr_q", choose_system, [](Arrays x, Statics, const Array&) { return matmul(x[0], positive_qr(x[1]).q); },
     false, nullptr,
     [](Tensors x, Statics) {
       const Matrix a = bounded(x[1]);
       Tensor right{x[0].shape, std::vector<Number>(a.n)};
       for (std::size_t i = 0; i < a.n; ++i)
         for (std::size_t k = 0; k < a.n; ++k)
           right.elements[i] = right.elements[i] + a.at(k, i) * x[0].elements[k];
       return solved(lower_root(square(a, true)), right);
     }},
    {"complex_solve", choose_system,
     [](Arrays x, Statics, const Array&) {
       const Array d = phases(x[0]);
       return real(conj(d) * linalg::solve(spun(bounded(x[1])), d * x[0]));
     },
     false, nullptr, solved_bounded},
    {"complex_lu_solve", choose_system,
     [](Arrays x, Statics, const Array&) {
       const Array d = phases(x[0]);
       return real(conj(d) * linalg::lu_solve(linalg::lu_factor(spun(bounded(x[1]))), d * x[0]));
     },
     false, nullptr, solved_bounded},
    {"complex_lu", choose_matrix,
     [](Arrays x, Statics, const Array&) { return unspun(linalg::lu_factor(spun(bounded(x[0]))).lu); }, false,
     nullptr, [](Tensors x, Statics) { return factored(bounded(x[0])).tensor(); }},
    {"complex_cholesky", choose_matrix,
     [](Arrays x, Statics, const Array&) { return unspun(linalg::cholesky(spun(positive(x[0])))); }, false,
     nullptr, [](Tensors x, Statics) { return lower_root(positive(x[0])).tensor(); }},
    {"complex_triangular_solve", choose_system,
     [](Arrays x, Statics, const Array&) {
       const Array d = phases(x[0]);
       return real(d * linalg::solve_triangular(spun(bounded(x[1])), conj(d) * x[0],
                                                {.transpose = true, .lower = false}));
     },
     false, nullptr, solved_by_lower},
    {"complex_qr", choose_matrix,
     [](Arrays x, Statics, const Array&) {
       const Array r = linalg::qr(spun(bounded(x[0]))).r;
       return unspun(r * expand_dims(sign(real(linalg::diagonal(r))), 1));
     },
     false, nullptr, upper_factor},
    {"circular_convolution", choose_lines,
     [](Arrays x, Statics, const Array&) { return real(fft::ifft(fft::fft(x[0]) * fft::fft(x[1]))); }, false,
     nullptr,
     [](Tensors x, Statics) {
       return by_lines(x, [](std::size_t n, const std::vector<const Number*>& from, Number* to) {
         for (std::size_t i = 0; i < n; ++i)
           for (std::size_t k = 0; k < n; ++k) to[i] = to[i] + from[0][k] * from[1][(i + n - k) % n];
       });
     }},
    {"power_spectrum", choose_line,
     [](Arrays x, Statics, const Array&) {
       const Array f = fft::fft(x[0]);
       return real(f * conj(f));
     },
     false, nullptr,
     [](Tensors x, Statics) {
       return by_lines(x, [](std::size_t n, const std::vector<const Number*>& from, Number* to) {
         for (std::size_t i = 0; i < n; ++i) {
           Number re, im;
           for (std::size_t k = 0; k < n; ++k) {
             const long double turn = 2 * std::numbers::pi_v<long double> *
                                      static_cast<long double>(i * k % n) / static_cast<long double>(n);
             re = re + from[0][k] * Number(std::cos(turn));
             im = im + from[0][k] * Number(std::sin(turn));
           }
           to[i] = re * re + im * im;
         }
       });
     }},
    {"complex_product", choose_pair,
     [](Arrays x, Statics, const Array&) {
       const Array z = complex(x[0], x[1]);
       return real(z * (z + 1.)) + imag(z * conj(complex(x[1], x[1])));
     },
     false, [](Numbers x) { return x[0] * x[0] - x[1] * x[1] + x[0] + x[1] * x[1] - x[0] * x[1]; }},
    {"complex_quotient", choose_pair,
     [](Arrays x, Statics, const Array&) {
       return real(complex(x[0], x[1]) / complex(2. + x[0] * x[0], x[1]));
     },
     false,
     [](Numbers x) {
       const Number re = Number(2) + x[0] * x[0];
       return (x[0] * re + x[1] * x[1]) / (re * re + x[1] * x[1]);
     }},
    {"complex_exp", choose_pair,
     [](Arrays x, Statics, const Array&) {
       const Array y = exp(complex(apsis::tanh(x[0]), x[1]));
       return real(y) - imag(y);
     },
     false, [](Numbers x) { return exp(tanh(x[0])) * (cos(x[1]) - sin(x[1])); }},
    {"complex_sqrt", choose_pair,
     [](Arrays x, Statics, const Array&) { return real(sqrt(complex(1. + x[0] * x[0], x[1]))); }, false,
     [](Numbers x) {
       const Number re = Number(1) + x[0] * x[0];
       return sqrt((sqrt(re * re + x[1] * x[1]) + re) * Number(0.5L));
     }},
    {"complex_log", choose_pair,
     [](Arrays x, Statics, const Array&) { return real(log(complex(1. + x[0] * x[0], x[1]))); }, false,
     [](Numbers x) {
       const Number re = Number(1) + x[0] * x[0];
       return log(re * re + x[1] * x[1]) * Number(0.5L);
     }},
};

}  // namespace

std::span<const ArrayOp> algebra_ops() { return table; }

}  // namespace apsis::compositions
