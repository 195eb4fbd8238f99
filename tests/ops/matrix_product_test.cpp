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
constexpr bool is_half = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

/// Integers: of all sizes, so that products and sums wrap.
template <class T>
std::vector<T> numbers(std::int64_t count, double phase) {
  std::vector<T> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = std::sin(phase + 1.7 * static_cast<double>(i));
    if constexpr (std::is_integral_v<T>)
      all.push_back(static_cast<T>(static_cast<std::int64_t>(x * 9e18)));
    else
      all.push_back(static_cast<T>(static_cast<std::conditional_t<is_half<T>, float, T>>(x)));
  }
  return all;
}

/// Blocks of 256 terms, each a chain; then, until one is left, sums of 64 neighbours each, added up in order.
/// Halves are added up in f32 and rounded once. Integers wrap.
template <class T>
T defined(std::int64_t k, const auto& left, const auto& right) {
  if constexpr (std::is_integral_v<T>) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < k; ++i)
      sum += static_cast<std::uint64_t>(left(i)) * static_cast<std::uint64_t>(right(i));
    return static_cast<T>(sum);
  } else {
    using Sum = std::conditional_t<is_half<T>, float, T>;
    std::vector<Sum> sums(k == 0);
    for (std::int64_t first = 0; first < k; first += 256) {
      Sum chain = 0;
      for (std::int64_t i = first; i < std::min(first + 256, k); ++i)
        chain = std::fma(static_cast<Sum>(left(i)), static_cast<Sum>(right(i)), chain);
      sums.push_back(chain);
    }
    while (sums.size() > 1) {
      std::vector<Sum> groups;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        if (i % 64 == 0)
          groups.push_back(sums[i]);
        else
          groups.back() += sums[i];
      }
      sums = groups;
    }
    return static_cast<T>(sums[0]);
  }
}

template <class T>
void expect_defined(std::int64_t m, std::int64_t n, std::int64_t k) {
  SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n) + " of " + std::to_string(k) + " terms of " +
               to_string(dtype_of_type<T>::value));
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
        const T mark = right[0];  // nothing behind the result is written
        std::vector<T> got(expected.size() + 1, mark);
        matrix_product(dtype_of_type<T>::value, m, n, k, a, b, got.data(), n, wide);
        EXPECT_EQ(got.back(), mark);
        EXPECT_TRUE(expected.empty() ||
                    std::memcmp(got.data(), expected.data(), expected.size() * sizeof(T)) == 0)
            << "strides " << a.row_stride << ", " << a.column_stride << " and " << b.row_stride << ", "
            << b.column_stride << (wide ? ", wide registers" : "");
      }
    }
}

template <class T>
struct MatrixProductOf : ::testing::Test {};
using Elements = ::testing::Types<double, float, bfloat16, float16, std::int8_t, std::uint8_t, std::int16_t,
                                  std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(MatrixProductOf, Elements, );

// Sizes about those of tiles, panels and chains.
TYPED_TEST(MatrixProductOf, IsAsDefined) {
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
                                                                                 {29, 33},
                                                                                 {8, 24},
                                                                                 {20, 5},
                                                                                 {30, 31},
                                                                                 {16, 65}}) {
      expect_defined<TypeParam>(m, n, k);
    }
  }
  expect_defined<TypeParam>(85, 530, 260);
  expect_defined<TypeParam>(254, 530, 9);
  expect_defined<TypeParam>(1, 530, 260);
  expect_defined<TypeParam>(530, 1, 260);
  // Groups of blocks, and groups of these.
  for (const std::int64_t k : {16384, 16385, 16640, 33000})
    for (const auto& [m, n] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {1, 3}, {3, 1}, {2, 9}})
      expect_defined<TypeParam>(m, n, k);
  expect_defined<TypeParam>(37, 2, 16400);
  expect_defined<TypeParam>(2, 70, 16400);
  expect_defined<TypeParam>(1, 1, (1 << 20) + 16700);
}

TEST(MatrixProduct, KeepsNaNInItsPlace) {
  std::vector<double> left = numbers<double>(20 * 30, 0.1), right = numbers<double>(30 * 20, 0.4),
                      result(400);
  left[5 * 30 + 7] = std::numeric_limits<double>::quiet_NaN();
  right[3 * 20 + 11] = std::numeric_limits<double>::infinity();
  matrix_product(Dtype::F64, 20, 20, 30, {left.data(), 30, 1}, {right.data(), 20, 1}, result.data(), 20);
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 20; ++j) {
      const double x = result[static_cast<std::size_t>(i * 20 + j)];
      EXPECT_EQ(std::isnan(x), i == 5) << i << " " << j;
      EXPECT_EQ(std::isinf(x), i != 5 && j == 11) << i << " " << j;
    }
}

// A batch is its single products, at sizes that are no longer part of the program, whatever is mapped.
TEST(MatrixProduct, OfABatchIsThatOfItsLanes) {
  for (const Dtype dtype : {f64, f32, bf16, f16, i8, i16, i32, i64, u8, u16, u32, u64}) {
    const auto numbers = [dtype](const Array& x, const Shape& shape) {
      return astype(astype(reshape(100. * x, shape), is_floating(dtype) ? f64 : i64), dtype);
    };
    const Array w = numbers(sin(arange(90. * 70.)), {90, 70}), vs = numbers(cos(arange(11. * 70.)), {11, 70}),
                ms = numbers(sin(arange(3. * 70. * 80.)), {3, 70, 80});
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

// Rows of a large product are shared out to threads; each is what it is alone.
TEST(MatrixProduct, OfManyRowsIsThatOfFew) {
  for (const Dtype dtype : {f64, f32, bf16, i32}) {
    const auto numbers = [dtype](const Array& x, const Shape& shape) {
      return astype(astype(reshape(100. * x, shape), is_floating(dtype) ? f64 : i64), dtype);
    };
    const Array a = numbers(sin(arange(700. * 300.)), {700, 300}),
                b = numbers(cos(arange(300. * 200.)), {300, 200});
    const Array all = dot(a, b), of_vector = dot(a, b(range(), 0)), of_row = dot(b(range(), 0), transpose(a));
    for (std::int64_t i = 0; i < 700; i += 50) {
      const auto rows = range(i, i + 50);
      EXPECT_TRUE(tree_equal(Array(all(rows)), dot(a(rows), b))) << i;
      EXPECT_TRUE(tree_equal(Array(of_vector(rows)), dot(a(rows), b(range(), 0)))) << i;
      EXPECT_TRUE(tree_equal(Array(of_row(rows)), dot(b(range(), 0), transpose(a(rows))))) << i;
    }
  }
}

// Of few rows it is the columns.
TEST(MatrixProduct, OfManyColumnsIsThatOfFew) {
  for (const Dtype dtype : {f64, f32, bf16, f16, i32, u8}) {
    const auto numbers = [dtype](const Array& x, const Shape& shape) {
      return astype(astype(reshape(100. * x, shape), is_floating(dtype) ? f64 : i64), dtype);
    };
    for (const std::int64_t m : {2, 60}) {
      const std::int64_t k = m == 2 ? 17000 : 200;  // groups of blocks of terms; one block
      const Array a = numbers(sin(arange(static_cast<double>(m * k))), {m, k}),
                  b = numbers(cos(arange(static_cast<double>(k) * 901.)), {k, 901});
      const Array all = dot(a, b), of_transpose = transpose(dot(transpose(b), transpose(a)));
      for (std::int64_t j = 0; j < 901; j += 53) {
        const auto columns = range(j, std::min<std::int64_t>(j + 53, 901));
        EXPECT_TRUE(tree_equal(Array(all(range(), columns)), dot(a, b(range(), columns)))) << dtype << m << j;
      }
      EXPECT_TRUE(tree_equal(all, of_transpose));
    }
  }
}

// Of few results of many terms it is the terms: the sums of parts are added up as those of the whole are.
TEST(MatrixProduct, OfManyTermsInParts) {
  for (const Dtype dtype : {f64, f32, bf16, i32, u64})
    for (const auto& [k, m] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{40000, 20}, {16385, 33}, {70000, 11}}) {
      const Array a = astype(reshape(sin(arange(static_cast<double>(k * m))) * 100., {k, m}), dtype);
      const Array all = dot(transpose(a), a);
      std::vector<char> direct(static_cast<std::size_t>(all.size()) * item_size(dtype));
      const auto* data = static_cast<const char*>(data_of(a));
      matrix_product(dtype, m, m, k, {data, 1, m}, {data, m, 1}, direct.data(), m);
      EXPECT_EQ(std::memcmp(direct.data(), data_of(all), direct.size()), 0) << dtype << " " << k << " " << m;
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
