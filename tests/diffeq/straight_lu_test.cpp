// Factors of small sparse matrices in straight line.

#include <cmath>

#include <gtest/gtest.h>
#include <apsis/apsis.hpp>

#include "diffeq/straight_lu.hpp"

namespace apsis::testing {
namespace {

using detail::StraightLU;

/// An arrow: a full row and a full column, first or last, beside the diagonal.
Array arrow(std::int64_t n, std::int64_t at) {
  const Array i = arange(n), row = expand_dims(i, 1);
  const Array there = row == i || row == at || i == at;
  return where(there, cos(astype(3 * row + i, f64)) + where(row == i, 4., 0.), 0.);
}
Array entries_of(const SparsePattern& p, const Array& a) {
  const auto numbers = [](std::span<const std::int64_t> v) {
    return array(v, Shape{static_cast<std::int64_t>(v.size())});
  };
  return a(numbers(p.row_indices()), numbers(p.column_indices()));
}
bool sound(const Array& factors) { return StraightLU::is_sound(factors).item<bool>(); }

TEST(StraightLU, SolvesWithTheMatrixAndItsTranspose) {
  for (std::int64_t at : {0, 5, 8}) {
    const Array a = arrow(9, at), b = sin(arange(9.));
    const SparsePattern p = SparsePattern::of(a);
    const StraightLU lu(p);
    const Array factors = jit([&](const Array& e) { return lu.factor(e); })(entries_of(p, a));
    EXPECT_TRUE(sound(factors));
    for (bool transposed : {false, true}) {
      const Array x =
          jit([&](const Array& f, const Array& right) { return lu.solve(f, right, transposed); })(factors, b);
      EXPECT_TRUE(
          allclose(matmul(transposed ? linalg::matrix_transpose(a) : a, x), b, {.rtol = 1e-14, .atol = 1e-14})
              .item<bool>());
    }
  }
}

// The crossing of an arrow's row and column goes last, whatever its number: nothing is filled in.
TEST(StraightLU, ChoosesAnOrderThatFillsNothing) {
  for (std::int64_t at : {0, 3, 9}) {
    const SparsePattern p = SparsePattern::of(arrow(10, at));
    EXPECT_EQ(StraightLU(p).factor(entries_of(p, arrow(10, at))).size(), p.count() + 1);
    // Each of 9 pivots divides one entry and changes one; 28 entries in a solve.
    EXPECT_EQ(StraightLU(p).work(), 28 + 2 * 9);
  }
}

TEST(StraightLU, KnowsWhenPivotsOnTheDiagonalDoNotDo) {
  const auto is_sound = [](const Array& a) {
    const SparsePattern p = SparsePattern::of(ones(a.shape()));
    return sound(StraightLU(p).factor(ravel(a)));
  };
  const double tiny = 1e-13;
  EXPECT_FALSE(is_sound(array({{0., 1.}, {1., 1.}})));
  EXPECT_FALSE(is_sound(array({{tiny, 1.}, {1., 1.}})));
  EXPECT_TRUE(is_sound(array({{1e-2, 1.}, {1., 1.}})));
  EXPECT_FALSE(is_sound(array({{std::nan(""), 1.}, {1., 1.}})));
  // Other units of rows and columns change nothing.
  const Array good = arrow(5, 2) + 0.01, rows = array({1e-9, 1., 1e7, 1e3, 1.}),
              columns = array({1e6, 1., 1e-8, 1., 2.});
  EXPECT_TRUE(is_sound(good));
  EXPECT_TRUE(is_sound(expand_dims(rows, 1) * good * columns));
  // As good as with exchanges, if hardly regular.
  EXPECT_TRUE(is_sound(array({{1e9 + 1, -1e9}, {-1e9, 1e9 + 1}})));
}

TEST(StraightLU, LanesAreSingleSolves) {
  const Array a = arrow(7, 3);
  const SparsePattern p = SparsePattern::of(a);
  const StraightLU lu(p);
  const auto solve = [&](const Array& e) { return lu.solve(lu.factor(e), e[range(0, 7)]); };
  const Array many = expand_dims(entries_of(p, a), 0) * expand_dims(1. + arange(5.) / 7., 1);
  const Array all = jit(vmap(solve))(many);
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_TRUE(array_equal(all[i], jit(solve)(many[i])).item<bool>());
}

TEST(StraightLU, TakesF32) {
  const Array a = astype(arrow(6, 1), f32), b = ones({6}, f32);
  const SparsePattern p = SparsePattern::of(a);
  const Array factors = StraightLU(p).factor(entries_of(p, a)), x = StraightLU(p).solve(factors, b);
  EXPECT_EQ(x.dtype(), f32);
  EXPECT_TRUE(sound(factors));
  EXPECT_LT(max(abs(matmul(a, x) - b)).item<float>(), 1e-6f);
}

}  // namespace
}  // namespace apsis::testing
