// Large products, against their definition: the bits do not depend on the processor, nor on how matrices lie.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <apsis/apsis.hpp>

#include "ops/matrix_product.hpp"

namespace apsis::testing {
namespace {

using detail::matrix_product;
using detail::MatrixOperand;

template <class T>
constexpr Dtype dtype_here = sizeof(T) == 8 ? Dtype::F64 : Dtype::F32;

template <class T>
std::vector<T> numbers(std::int64_t count, double phase) {
  std::vector<T> all;
  for (std::int64_t i = 0; i < count; ++i)
    all.push_back(static_cast<T>(std::sin(phase + 1.7 * static_cast<double>(i))));
  return all;
}

/// Blocks of 256 terms, each a chain, added up in order.
template <class T>
T defined(std::int64_t k, const auto& left, const auto& right) {
  T sum = 0;
  for (std::int64_t first = 0; first < k; first += 256) {
    T chain = 0;
    for (std::int64_t i = first; i < std::min(first + 256, k); ++i)
      chain = std::fma(left(i), right(i), chain);
    sum = first == 0 ? chain : sum + chain;
  }
  return sum;
}

template <class T>
void expect_defined(std::int64_t m, std::int64_t n, std::int64_t k) {
  SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n) + " of " + std::to_string(k) + " terms, " +
               std::to_string(sizeof(T)) + " bytes");
  // A little more than the matrices: strides are not those of contiguous ones.
  const std::vector<T> left = numbers<T>((m + 2) * (k + 3), 0.2), right = numbers<T>((k + 2) * (n + 3), 0.9);
  std::vector<MatrixOperand> as{{left.data(), k, 1}, {left.data(), 1, m}, {left.data(), k + 3, 1}},
      bs{{right.data(), n, 1}, {right.data(), 1, k}, {right.data(), n + 3, 1}};
  for (const MatrixOperand& a : as)
    for (const MatrixOperand& b : bs) {
      std::vector<T> expected;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          expected.push_back(defined<T>(
              k,
              [&](std::int64_t s) {
                return left[static_cast<std::size_t>(i * a.row_stride + s * a.column_stride)];
              },
              [&](std::int64_t s) {
                return right[static_cast<std::size_t>(s * b.row_stride + j * b.column_stride)];
              }));
      for (const bool wide : {false, true}) {
        if (wide && !detail::has_avx512()) continue;
        std::vector<T> got(expected.size() + 1, T(-7));  // and nothing behind the result is written
        matrix_product(dtype_here<T>, m, n, k, a, b, got.data(), wide);
        EXPECT_EQ(got.back(), T(-7));
        EXPECT_EQ(std::memcmp(got.data(), expected.data(), expected.size() * sizeof(T)), 0)
            << "strides " << a.row_stride << ", " << a.column_stride << " and " << b.row_stride << ", "
            << b.column_stride << (wide ? ", wide registers" : "");
      }
    }
}

// Sizes about those of tiles, panels and chains.
TEST(MatrixProduct, IsAsDefined) {
  for (const std::int64_t k : {0, 1, 7, 255, 256, 257, 700}) {
    for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3},
                                                                                 {3, 0},
                                                                                 {1, 1},
                                                                                 {1, 40},
                                                                                 {9, 1},
                                                                                 {40, 1},
                                                                                 {5, 7},
                                                                                 {6, 8},
                                                                                 {7, 9},
                                                                                 {13, 15},
                                                                                 {14, 16},
                                                                                 {15, 17},
                                                                                 {29, 33}}) {
      expect_defined<double>(m, n, k);
      expect_defined<float>(m, n, k);
    }
  }
  expect_defined<double>(85, 513, 9);
  expect_defined<float>(170, 530, 260);
}

TEST(MatrixProduct, KeepsNaNInItsPlace) {
  std::vector<double> left = numbers<double>(20 * 30, 0.1), right = numbers<double>(30 * 20, 0.4),
                      result(400);
  left[5 * 30 + 7] = std::numeric_limits<double>::quiet_NaN();
  right[3 * 20 + 11] = std::numeric_limits<double>::infinity();
  matrix_product(Dtype::F64, 20, 20, 30, {left.data(), 30, 1}, {right.data(), 20, 1}, result.data());
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 20; ++j) {
      const double x = result[static_cast<std::size_t>(i * 20 + j)];
      EXPECT_EQ(std::isnan(x), i == 5) << i << " " << j;
      EXPECT_EQ(std::isinf(x), i != 5 && j == 11) << i << " " << j;
    }
}

// A batch is its single products, at sizes that are no longer part of the program, whatever is mapped.
TEST(MatrixProduct, OfABatchIsThatOfItsLanes) {
  for (const Dtype dtype : {f64, f32}) {
    const Array w = astype(reshape(sin(arange(90. * 70.)), {90, 70}), dtype),
                vs = astype(reshape(cos(arange(11. * 70.)), {11, 70}), dtype),
                ms = astype(reshape(sin(arange(3. * 70. * 80.)), {3, 70, 80}), dtype);
    const auto expect_lanes = [](const auto& f, const Array& batch, const Array& shared) {
      const Array all = jit(vmap(f, {.in_axes = {{}, 0}}))(shared, batch);
      for (std::int64_t i = 0; i < batch.dim(0); ++i)
        EXPECT_TRUE(tree_equal(Array(all[i]), jit(f)(shared, Array(batch[i])))) << i;
      const Array other = vmap(f, {.in_axes = {{}, 0}})(shared, batch);
      EXPECT_TRUE(tree_equal(all, other));
    };
    expect_lanes([](const Array& a, const Array& v) { return dot(a, v); }, vs, w);
    expect_lanes([](const Array& a, const Array& v) { return dot(v, transpose(a)); }, vs, w);
    expect_lanes([](const Array& a, const Array& m) { return dot(a, m); }, ms, w);
    expect_lanes([](const Array& a, const Array& m) { return dot(transpose(m), transpose(a)); }, ms, w);
  }
}

// Layers on a batch leave no transposes behind: the results lie as the batch does.
TEST(MatrixProduct, OfABatchOfVectorsNeedsNoTransposes) {
  const Array w = reshape(sin(arange(20.)), {5, 4}), u = reshape(cos(arange(15.)), {3, 5});
  const auto layers = [&](const Array& v) { return dot(u, tanh(dot(w, v))); };
  const std::string text = trace(vmap(layers), ones({7, 4})).text();
  EXPECT_EQ(text.find("transpose{"), std::string::npos) << text;
}

}  // namespace
}  // namespace apsis::testing
