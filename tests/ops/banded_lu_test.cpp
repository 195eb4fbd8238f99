// Factors of banded matrices that a program keeps.

#include <gtest/gtest.h>

#include <limits>

#include "apsis/apsis.hpp"
#include "apsis/ops/banded_lu.hpp"

namespace apsis::testing {
namespace {

/// A matrix of bands whose rows and columns were exchanged, and what banded_lu is given of it.
struct Banded {
  linalg::Bandwidths widths;
  Array matrix, entries, places, order;
};
Banded banded(std::int64_t n, const linalg::Bandwidths& widths, double diagonal, Dtype dtype = f64) {
  std::vector<std::int64_t> places, rows, columns, order;
  for (std::int64_t k = 0; k < n; ++k) order.push_back((k * 5 + 3) % n);  // n is not a multiple of 5
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = std::max<std::int64_t>(0, i - widths.lower); j <= std::min(n - 1, i + widths.upper);
         ++j) {
      places.push_back((widths.upper + i - j) * n + j);
      rows.push_back(order[static_cast<std::size_t>(i)]);
      columns.push_back(order[static_cast<std::size_t>(j)]);
    }
  const auto count = static_cast<std::int64_t>(places.size());
  const auto numbers = [](const std::vector<std::int64_t>& v) {
    return array(std::span<const std::int64_t>(v), Shape{static_cast<std::int64_t>(v.size())});
  };
  const Array at_row = numbers(rows), at_column = numbers(columns);
  const Array entries = astype(
      sin(3. * arange(static_cast<double>(count))) + diagonal * astype(at_row == at_column, f64), dtype);
  const Array matrix = zeros({n, n}, dtype).at(at_row, at_column).set(entries);
  return {widths, matrix, entries, numbers(places), numbers(order)};
}
Array factors_of(const Banded& b, const Array& entries) {
  return detail::banded_lu(b.matrix.dim(0), b.widths, entries, b.places);
}
Array solved(const Banded& b, const Array& factors, const Array& right, bool transposed = false) {
  return detail::banded_lu_solve(b.widths, factors, b.order, right, transposed);
}
/// The greatest part of the right side that a solution leaves.
double left(const Array& matrix, const Array& x, const Array& right) {
  return max(abs(matmul(matrix, x) - right)).item<double>();
}

// With a large diagonal there are no exchanges of rows; without one there are.
TEST(BandedLU, SolvesWithTheMatrixAndItsTranspose) {
  for (std::int64_t n : {1, 2, 3, 4, 7, 8, 9, 33, 64})
    for (const linalg::Bandwidths& widths :
         {linalg::Bandwidths{0, 0}, {1, 1}, {0, 1}, {1, 0}, {2, 2}, {1, 2}, {3, 3}, {0, 3}, {2, 5}})
      for (double diagonal : {4., 0.5}) {
        const Banded b = banded(n, widths, diagonal);
        const Array right = cos(arange(static_cast<double>(n))), factors = factors_of(b, b.entries);
        for (bool transposed : {false, true}) {
          SCOPED_TRACE(::testing::Message()
                       << n << " " << widths.lower << " " << widths.upper << " " << diagonal << transposed);
          const Array matrix = transposed ? linalg::matrix_transpose(b.matrix) : b.matrix;
          const Array x = solved(b, factors, right, transposed), direct = linalg::solve(matrix, right);
          const double size = 1 + max(abs(direct)).item<double>();
          EXPECT_LT(left(matrix, x, right), 1e-13 * size * size);
        }
      }
}

TEST(BandedLU, LanesAreSingleSolves) {
  const Banded b = banded(33, {2, 2}, 4);
  const Array scales = 1. + arange(6.) / 7., rights = sin(reshape(arange(6. * 33), {6, 33}));
  const auto solve = [&](const Array& scale, const Array& right) {
    return solved(b, factors_of(b, scale * b.entries), right);
  };
  const Array both = jit(vmap(solve))(scales, rights),
              nested = vmap([&](const Array&s) {
                return vmap([&](const Array& r) { return solve(s, r); })(rights);
              })(scales);
  const Array factors = factors_of(b, b.entries);
  const Array shared = vmap([&](const Array& r) { return solved(b, factors, r); })(rights);
  const Array matrices = vmap([&](const Array& s) { return solve(s, rights[0]); })(scales);
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(array_equal(both[i], solve(scales[i], rights[i])).item<bool>());
    EXPECT_TRUE(array_equal(nested(i, 5 - i), solve(scales[i], rights[5 - i])).item<bool>());
    EXPECT_TRUE(array_equal(shared[i], solved(b, factors, rights[i])).item<bool>());
    EXPECT_TRUE(array_equal(matrices[i], solve(scales[i], rights[0])).item<bool>());
  }
}

TEST(BandedLU, HasTheDerivativeByTheRightSide) {
  const Banded b = banded(9, {1, 2}, 4);
  const Array right = cos(arange(9.)), factors = factors_of(b, b.entries), inverse = linalg::inv(b.matrix);
  const auto solve = [&](const Array& r) { return solved(b, factors, r); };
  for (const Array& jacobian : {jacfwd(solve)(right), jacrev(solve)(right)})
    EXPECT_TRUE(allclose(jacobian, inverse, {.rtol = 1e-12, .atol = 1e-13}).item<bool>());
  EXPECT_THROW((void)grad([&](const Array& e) { return sum(factors_of(b, e)); })(b.entries), Error);
}

// The matrices of all lanes meet one right side: its cotangents are added up.
TEST(BandedLU, HasTheDerivativeByASharedRightSide) {
  const Banded b = banded(9, {2, 1}, 4);
  const Array scales = 1. + arange(5.) / 7., right = cos(arange(9.));
  const auto one = [&](const Array& scale, const Array& r) {
    return solved(b, factors_of(b, scale * b.entries), r);
  };
  const auto all = [&](const Array& r) {
    return sum(vmap([&](const Array& scale) { return one(scale, r); })(scales) * arange(9.));
  };
  Array want = zeros_like(right);
  for (int k = 0; k < 5; ++k)
    want = want + grad([&](const Array& r) { return sum(one(scales[k], r) * arange(9.)); })(right);
  EXPECT_LT(max(abs(grad(all)(right) - want)).item<double>(), 1e-14);
  EXPECT_TRUE(array_equal(jit(grad(all))(right), grad(all)(right)));
}

TEST(BandedLU, TakesF32) {
  const Banded b = banded(33, {2, 2}, 4, f32);
  const Array right = ones({33}, f32), x = solved(b, factors_of(b, b.entries), right);
  EXPECT_EQ(x.dtype(), f32);
  EXPECT_LT(max(abs(matmul(b.matrix, x) - right)).item<float>(), 1e-5f);
}

// So are zeros in the place of factors, which stand where there are none as yet.
TEST(BandedLU, SingularMatricesGiveNaN) {
  const Banded b = banded(9, {1, 1}, 4);
  const Array right = ones({9});
  EXPECT_TRUE(all(isnan(solved(b, factors_of(b, 0. * b.entries), right))).item<bool>());
  const Array none = zeros({detail::banded_lu_size(9, b.widths)});
  EXPECT_TRUE(all(isnan(solved(b, none, right))).item<bool>());
  const Array nan = where(b.places == 9, std::numeric_limits<double>::quiet_NaN(), b.entries);
  EXPECT_TRUE(any(isnan(solved(b, factors_of(b, nan), right))).item<bool>());
}

}  // namespace
}  // namespace apsis::testing
