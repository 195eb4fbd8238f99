// Factorisations and solves of small matrices: their backward errors, by products in a wider format than
// theirs and an elimination of our own; scales at the ends of the format; batches against single calls.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "ops/complex_matrix.hpp"
#include "ops/matrix_params.hpp"
#include "ops/records.hpp"

namespace apsis::testing {
namespace {

using namespace detail;

using Wide = long double;
using Number = std::complex<Wide>;

/// A matrix of wide numbers.
struct Matrix {
  std::int64_t rows, columns;
  std::vector<Number> entries;
  Matrix(std::int64_t m, std::int64_t n) : rows(m), columns(n), entries(static_cast<std::size_t>(m * n)) {}
  Number& at(std::int64_t i, std::int64_t j) { return entries[static_cast<std::size_t>(i * columns + j)]; }
  Number at(std::int64_t i, std::int64_t j) const {
    return entries[static_cast<std::size_t>(i * columns + j)];
  }
};

template <class T>
Number number(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return {x.real, x.imag};
}
/// The type of the parts of a T.
template <class T>
using Part = std::conditional_t<sizeof(T) == 16 || std::is_same_v<T, double>, double, float>;

/// Matrix number `which` of an array.
template <class T>
Matrix matrix_of(const Array& a, std::int64_t which = 0) {
  Matrix m(a.dim(-2), a.dim(-1));
  const auto values = a.to_vector<T>();
  const auto size = static_cast<std::ptrdiff_t>(m.entries.size());
  std::transform(values.begin() + which * size, values.begin() + (which + 1) * size, m.entries.begin(),
                 number<T>);
  return m;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t j = 0; j < b.columns; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}
Matrix transposed(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) t.at(j, i) = a.at(i, j);
  return t;
}
Matrix adjoint(Matrix a) {
  for (Number& x : a.entries) x = std::conj(x);
  return transposed(a);
}
Wide norm(const Matrix& a) {
  Wide most = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    Wide sum = 0;
    for (std::int64_t j = 0; j < a.columns; ++j) sum += std::abs(a.at(i, j));
    most = std::max(most, sum);
  }
  return most;
}
Wide distance(const Matrix& a, const Matrix& b) {
  Matrix d = a;
  for (std::size_t i = 0; i < d.entries.size(); ++i) d.entries[i] -= b.entries[i];
  return norm(d);
}

template <class T>
Array random_matrix(Random& random, const Shape& shape, double scale = 1) {
  const auto part = [&] {
    std::vector<double> values;
    for (std::int64_t i = 0; i < shape.product(); ++i) values.push_back(scale * random.uniform(-1, 1));
    return array_of(dtype_of<Part<T>>, shape, values);
  };
  const Array re = part();
  return is_complex(dtype_of<T>) ? run(complex_op, {}, std::vector{re, part()})[0] : re;
}
template <class T>
Array array_of_matrix(const Matrix& m) {
  const auto part = [&](auto of) {
    std::vector<double> values;
    for (const Number x : m.entries) values.push_back(static_cast<double>(of(x)));
    return array_of(dtype_of<Part<T>>, {m.rows, m.columns}, values);
  };
  const Array re = part([](Number x) { return x.real(); }), im = part([](Number x) { return x.imag(); });
  return is_complex(dtype_of<T>) ? run(complex_op, {}, std::vector{re, im})[0] : re;
}

/// A·Aᴴ + 1, whose condition is small.
template <class T>
Array positive_matrix(Random& random, std::int64_t n) {
  const Matrix a = matrix_of<T>(random_matrix<T>(random, {n, n}));
  Matrix square = product(a, adjoint(a));
  for (std::int64_t i = 0; i < n; ++i) square.at(i, i) += 1;
  return array_of_matrix<T>(square);
}

template <class T>
Wide bound(std::int64_t n) {
  return 4 * static_cast<Wide>(n) * std::numeric_limits<Part<T>>::epsilon();
}

/// L and U of what lu gives, which are m × k and k × n.
struct Triangles {
  Matrix l, u;
  explicit Triangles(const Matrix& lu)
      : l(lu.rows, std::min(lu.rows, lu.columns)), u(std::min(lu.rows, lu.columns), lu.columns) {
    for (std::int64_t i = 0; i < lu.rows; ++i)
      for (std::int64_t j = 0; j < lu.columns; ++j)
        if (j < i)
          l.at(i, j) = lu.at(i, j);
        else
          u.at(i, j) = lu.at(i, j);
    for (std::int64_t i = 0; i < l.columns; ++i) l.at(i, i) = 1;
  }
};

/// What pivots are chosen by.
Wide pivot_size(Number x) { return std::fabs(x.real()) + std::fabs(x.imag()); }

/// The order of rows by an elimination in wide numbers.
std::vector<std::int32_t> order_of_rows(Matrix a) {
  std::vector<std::int32_t> order;
  for (std::int64_t i = 0; i < a.rows; ++i) order.push_back(static_cast<std::int32_t>(i));
  for (std::int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < a.rows; ++i)
      if (pivot_size(a.at(i, k)) > pivot_size(a.at(pivot, k))) pivot = i;
    std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(pivot)]);
    for (std::int64_t j = 0; j < a.columns; ++j) std::swap(a.at(k, j), a.at(pivot, j));
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      const Number l = a.at(i, k) / a.at(k, k);
      for (std::int64_t j = k; j < a.columns; ++j) a.at(i, j) -= l * a.at(k, j);
    }
  }
  return order;
}

template <class T>
void check_lu(Random& random, std::int64_t m, std::int64_t n, double scale) {
  const Array a = random_matrix<T>(random, {m, n}, scale);
  const std::vector<Array> f = run(lu_op, {}, std::vector{a});
  const Matrix given = matrix_of<T>(a);
  const auto order = f[2].to_vector<std::int32_t>();
  EXPECT_EQ(order, order_of_rows(given));
  Matrix rows(m, n);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) rows.at(i, j) = given.at(order[static_cast<std::size_t>(i)], j);
  const Triangles t(matrix_of<T>(f[0]));
  for (const Number l : t.l.entries) EXPECT_LE(std::abs(l), is_complex(dtype_of<T>) ? std::sqrt(2.1L) : 1);
  EXPECT_LE(distance(product(t.l, t.u), rows), bound<T>(std::max(m, n)) * norm(given));
}

template <class T>
void check_qr(Random& random, std::int64_t m, std::int64_t n, double scale, bool full) {
  const Array a = random_matrix<T>(random, {m, n}, scale);
  const std::vector<Array> f = run(qr_op, make_params(QrParams{full}), std::vector{a});
  const Matrix given = matrix_of<T>(a), q = matrix_of<T>(f[0]), r = matrix_of<T>(f[1]);
  const std::int64_t most = std::max(m, n);
  EXPECT_LE(distance(product(q, r), given), bound<T>(most) * norm(given));
  Matrix ones(q.columns, q.columns);
  for (std::int64_t i = 0; i < ones.rows; ++i) ones.at(i, i) = 1;
  EXPECT_LE(distance(product(adjoint(q), q), ones), bound<T>(most));
  for (std::int64_t i = 0; i < r.rows; ++i)
    for (std::int64_t j = 0; j < std::min(i, n); ++j) EXPECT_EQ(r.at(i, j), Number(0));
  for (std::int64_t i = 0; i < std::min(r.rows, n); ++i) EXPECT_EQ(r.at(i, i).imag(), 0);
}

template <class T>
void check_cholesky(Random& random, std::int64_t n) {
  const Array a = positive_matrix<T>(random, n);
  const Matrix given = matrix_of<T>(a), l = matrix_of<T>(run(cholesky_op, {}, std::vector{a})[0]);
  EXPECT_LE(distance(product(l, adjoint(l)), given), bound<T>(n) * norm(given));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j) EXPECT_EQ(l.at(i, j), Number(0));
}

/// |A·X - B| ≤ bound · (|A|·|X| + |B|), one column.
template <class T>
void expect_solved(const Matrix& a, const Array& x, const Array& b) {
  const Matrix given = matrix_of<T>(x), right = matrix_of<T>(b);
  EXPECT_LE(distance(product(a, given), right), bound<T>(a.rows) * (norm(a) * norm(given) + norm(right)));
}

template <class T>
void check_solves(Random& random, std::int64_t n, double scale) {
  const Array a = random_matrix<T>(random, {n, n}, scale), b = random_matrix<T>(random, {n, 1});
  const Matrix given = matrix_of<T>(a);
  const Array x = run(solve_op, {}, std::vector{a, b})[0];
  expect_solved<T>(given, x, b);
  const std::vector<Array> f = run(lu_op, {}, std::vector{a});
  const auto by_factors = [&](bool transposed) {
    return run(lu_solve_op, make_params(LuSolveParams{transposed}), std::vector{f[0], f[1], b})[0];
  };
  EXPECT_TRUE(same_elements(by_factors(false), x)) << "the same steps";
  expect_solved<T>(transposed(given), by_factors(true), b);

  const Triangles t(matrix_of<T>(f[0]));
  for (bool transpose : {false, true})
    for (bool lower : {false, true}) {
      const Params p = make_params(TriangularSolveParams{
          .left_side = true, .lower = lower, .transpose_a = transpose, .unit_diagonal = lower});
      const Matrix& triangle = lower ? t.l : t.u;
      expect_solved<T>(transpose ? transposed(triangle) : triangle,
                       run(triangular_solve_op, p, std::vector{f[0], b})[0], b);
    }
  if (!is_complex(dtype_of<T>)) return;
  const Params p = make_params(
      TriangularSolveParams{.left_side = true, .lower = true, .transpose_a = true, .conjugate_a = true});
  Matrix lower = t.l;
  for (std::int64_t i = 0; i < n; ++i) lower.at(i, i) = t.u.at(i, i);
  expect_solved<T>(adjoint(lower), run(triangular_solve_op, p, std::vector{f[0], b})[0], b);
}

template <class T>
void check_all() {
  Random random(81);
  // Products of numbers of the larger scale, squares of those of the smaller one would leave the format.
  const double ends[] = {1, static_cast<double>(std::numeric_limits<Part<T>>::max()) / 64,
                         static_cast<double>(std::numeric_limits<Part<T>>::min()) * 1e6};
  for (std::int64_t n = 1; n <= 18; ++n) {
    SCOPED_TRACE(n);
    for (int repeat = 0; repeat < 8; ++repeat) {
      check_lu<T>(random, n, n, 1);
      check_cholesky<T>(random, n);
      check_qr<T>(random, n, n, 1, false);
      check_solves<T>(random, n, 1);
    }
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{n, 3}, {3, n}, {n, 16}, {16, n}}) {
      check_lu<T>(random, rows, columns, 1);
      check_qr<T>(random, rows, columns, 1, false);
      check_qr<T>(random, rows, columns, 1, true);
    }
    if (n <= 16)
      for (const double scale : ends) {
        SCOPED_TRACE(scale);
        check_lu<T>(random, n, n, scale);
        check_qr<T>(random, n, n, scale, false);
      }
  }
}

TEST(SmallMatrices, BackwardErrorsInDouble) { check_all<double>(); }
TEST(SmallMatrices, BackwardErrorsInFloat) { check_all<float>(); }
TEST(SmallMatrices, BackwardErrorsOfComplexDoubles) { check_all<complex128>(); }
TEST(SmallMatrices, BackwardErrorsOfComplexFloats) { check_all<complex64>(); }

TEST(SmallMatrices, PivotsOfEqualSizeAreTheFirst) {
  const Array a = array_of(Dtype::F64, {3, 3}, {1, 2, 3, -1, 4, 9, 1, 5, 6});
  const std::vector<Array> f = run(lu_op, {}, std::vector{a});
  EXPECT_EQ(f[1].to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(SmallMatrices, SingularOnesHaveFactorsAndNoSolution) {
  const Array a = array_of(Dtype::F64, {3, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 4});
  const std::vector<Array> f = run(lu_op, {}, std::vector{a});
  for (const double x : f[0].to_vector<double>()) EXPECT_TRUE(std::isfinite(x));
  const Array b = array_of(Dtype::F64, {3, 1}, {1, 2, 3});
  const auto x = run(solve_op, {}, std::vector{a, b})[0].to_vector<double>();
  for (const std::size_t i : {0u, 1u}) EXPECT_FALSE(std::isfinite(x[i]));
}

TEST(SmallMatrices, WithoutAnythingBelowNothingIsReflected) {
  const Array a = array_of(Dtype::F64, {3, 2}, {-2, 1, 0, 3, 0, 0});
  const std::vector<Array> f = run(qr_op, make_params(QrParams{}), std::vector{a});
  EXPECT_EQ(f[0].to_vector<double>(), (std::vector<double>{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(f[1].to_vector<double>(), (std::vector<double>{-2, 1, 0, 3}));
}

// Packets are of 2 to 16 matrices, the last one not full.
TEST(SmallMatrices, BatchesHaveTheBitsOfSingleCalls) {
  Random random(82);
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 8, 9, 16})
    for (const Dtype dtype : {Dtype::F64, Dtype::F32, Dtype::C128, Dtype::C64}) {
      SCOPED_TRACE(n);
      const std::int64_t count = 37;
      const Array a = random_array(random, dtype, {count, n, n}, -1, 1),
                  b = random_array(random, dtype, {count, n, 2}, -1, 1),
                  column = random_array(random, dtype, {count, n, 1}, -1, 1);
      const std::vector<Array> f = run(lu_op, {}, std::vector{a});
      const Array x = run(solve_op, {}, std::vector{a, b})[0], c = run(cholesky_op, {}, std::vector{a})[0];
      const Array column_x = run(solve_op, {}, std::vector{a, column})[0];
      const std::vector<Array> q = run(qr_op, make_params(QrParams{}), std::vector{a});
      const Array y = run(lu_solve_op, make_params(LuSolveParams{true}), std::vector{f[0], f[1], b})[0];
      for (std::int64_t i = 0; i < count; ++i) {
        const std::vector<Array> one = run(lu_op, {}, std::vector{a[i]}),
                                 of_q = run(qr_op, make_params(QrParams{}), std::vector{a[i]});
        for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(same_elements(one[k], f[k][i]));
        for (std::size_t k = 0; k < 2; ++k) EXPECT_TRUE(same_elements(of_q[k], q[k][i]));
        EXPECT_TRUE(same_elements(run(solve_op, {}, std::vector{a[i], b[i]})[0], x[i]));
        EXPECT_TRUE(same_elements(run(solve_op, {}, std::vector{a[i], column[i]})[0], column_x[i]));
        EXPECT_TRUE(same_elements(run(cholesky_op, {}, std::vector{a[i]})[0], c[i]));
        EXPECT_TRUE(same_elements(
            run(lu_solve_op, make_params(LuSolveParams{true}), std::vector{one[0], one[1], b[i]})[0], y[i]));
      }
    }
}

}  // namespace
}  // namespace apsis::testing
