// Sparsity patterns found in programs: equal to where dense Jacobians are not 0, or, where the choice depends
// on the argument, all that may be chosen.

#include <gtest/gtest.h>

#include <algorithm>

#include <apsis/apsis.hpp>

namespace apsis::testing {
namespace {

constexpr std::int64_t n = 12;
const Array point = 0.5 + random::uniform(random::key(3), {n});

/// The dense derivative's entries that are not 0, as a pattern.
template <class F>
SparsePattern dense_pattern(const F& f, const Array& x) {
  const Array j = jacfwd(f)(x);
  return SparsePattern::of(reshape(j, {j.size() / std::max<std::int64_t>(x.size(), 1), x.size()}));
}
template <class F>
void expect_exact(const char* what, const F& f, const Array& x = point) {
  SCOPED_TRACE(what);
  const SparsePattern found = jacobian_sparsity(f, x), want = dense_pattern(f, x);
  EXPECT_EQ(found, want) << to_string(found) << ", and dense " << to_string(want);
  // It does not depend on the argument, nor on where it is asked for.
  std::int64_t inside = 0;
  jit([&](const Array& y) {
    inside = jacobian_sparsity(f, y).count();
    return y;
  })(x);
  EXPECT_EQ(inside, want.count());
}

Array neighbours(const Array& x) {
  const Array edge = ones({1});
  return concatenate({edge, x[range(0, -1)]}) * concatenate({x[range(1, {})], edge}) + sin(x);
}

TEST(Sparsity, OfMovedElements) {
  expect_exact("slices", neighbours);
  expect_exact("roll", [](const Array& x) { return roll(x, 1, 0) * x; });
  expect_exact("reverse", [](const Array& x) { return flip(x) * exp(x); });
  expect_exact("part", [](const Array& x) { return square(x[range(2, 9, 3)]); });
  expect_exact("pad", [](const Array& x) { return pad(x * x, {1}, {2}); });
  expect_exact("repeat", [](const Array& x) { return repeat(x, 2, 0) * tile(x, {2}); });
  expect_exact("update", [](const Array& x) { return x.at(range(0, 3)).set(x[range(4, 7)] * 2.); });
  expect_exact("rows and columns", [](const Array& x) {
    const Array m = reshape(x, {3, 4});
    return ravel(transpose(m)) + ravel(m(range(), range({}, {}, -1)));
  });
  expect_exact("grid", [](const Array& x) {
    const Array m = reshape(x, {3, 4}), wide = pad(m, {1, 1}, {1, 1});
    return m * (wide(range(0, 3), range(1, 5)) + wide(range(2, 5), range(1, 5)) +
                wide(range(1, 4), range(0, 4)) + wide(range(1, 4), range(2, 6)));
  });
}

TEST(Sparsity, OfKnownIndicesAndMasks) {
  const Array indices = astype(array({3., 0., 3., 11., 7.}), i64);
  expect_exact("gather", [&](const Array& x) { return square(x[indices]); });
  expect_exact("gather of rows", [&](const Array& x) {
    return reshape(x, {6, 2})[astype(array({5., 1.}), i64)];
  });
  expect_exact("scatter", [&](const Array& x) { return (2. * x).at(indices).add(x[range(0, 5)]); });
  expect_exact("segments", [&](const Array& x) {
    return segment_sum(x * x, floor_divide(arange(n), 3), {.segments = 4});
  });
  expect_exact("mask", [](const Array& x) { return where(arange(n) % 3 == 0, x * x, roll(x, 2, 0)); });
  expect_exact("triangle", [](const Array& x) { return tril(expand_dims(x, 0) * expand_dims(x, 1)); });
}

TEST(Sparsity, OfReductionsAndProducts) {
  expect_exact("sum", [](const Array& x) { return sum(reshape(x * x, {3, 4}), {.axis = 1}); });
  expect_exact("mean", [](const Array& x) { return mean(reshape(x, {3, 4}), {.axis = 0}); });
  expect_exact("all", [](const Array& x) { return norm(x); });
  const Array second = eye(n) * -2. + eye(n, -1, 1) + eye(n, -1, -1);
  expect_exact("a banded matrix", [&](const Array& x) { return matmul(second, x * x); });
  expect_exact("from the right", [&](const Array& x) { return matmul(x, second[range(0, n)] + 0.); });
  expect_exact("of a matrix", [&](const Array& x) {
    return matmul(reshape(x, {3, 4}), eye(4, -1, 1)) + matmul(eye(3, -1, -1), reshape(x, {3, 4}));
  });
  expect_exact("of both", [](const Array& x) { return matmul(reshape(x, {3, 4}), reshape(x, {4, 3})); });
  expect_exact("convolution", [](const Array& x) {
    return convolve(x, array({1., 2., 1.}), ConvolveMode::Same);
  });
}

TEST(Sparsity, ThroughCallsLoopsAndLanes) {
  expect_exact("a call", [](const Array& x) { return jit(neighbours)(jit(neighbours)(x)); });
  expect_exact("lanes", [](const Array& x) {
    return vmap([](const Array& row) { return neighbours(row); })(reshape(x, {3, 4}));
  });
  expect_exact("a loop over indices", [](const Array& x) {
    return fori_loop(
        1, n - 1, [&](const Array& i, const Array& y) { return y.at(i).set(x[i - 1] * x[i + 1]); },
        zeros({n}));
  });
  expect_exact("a scan", [](const Array& x) {
    return scan([](const Array& sum, const Array& v) { return std::pair(sum + v, sum * v); }, array(1.), x)
        .second;
  });
  expect_exact("a branch that is known", [](const Array& x) {
    return fori_loop(
        0, 4,
        [&](const Array& i, const Array& y) {
          return cond(
              i < 2, [](const Array& v) { return roll(v, 1, 0); }, [](const Array& v) { return 2. * v; }, y);
        },
        x);
  });
  const auto own = custom_jvp([](const Array& x) { return x * x; },
                              [](const Array& x, const Array& dx) { return std::pair(x * x, 2. * x * dx); });
  expect_exact("a rule of its own", [&](const Array& x) { return own(x) + roll(x, 3, 0); });
  expect_exact("a derivative", [](const Array& x) {
    return grad([](const Array& y) { return sum(square(y[range(1, {})] - square(y[range(0, -1)]))); })(x);
  });
}

TEST(Sparsity, WhatDependsOnTheArgumentIsAllThatMayBeChosen) {
  const auto count = [](const auto& f) { return jacobian_sparsity(f, point).count(); };
  EXPECT_EQ(count([](const Array& x) { return where(x > 0.6, x, roll(x, 1, 0)); }), 2 * n);
  EXPECT_EQ(count([](const Array& x) { return sort(x); }), n * n);
  EXPECT_EQ(count([](const Array& x) { return x[astype(x * 3., i64)]; }), n * n);
  EXPECT_EQ(count([](const Array& x) { return max(x); }), n);
  // A loop whose end is not known: all of its steps.
  EXPECT_EQ(count([](const Array& x) {
              return while_loop([](const Array& y) { return y[0] < 5.; },
                                [](const Array& y) { return y + roll(y, 4, 0); }, x);
            }),
            3 * n);
  // Branches that do not depend on it at all.
  EXPECT_EQ(count([](const Array& x) { return floor(x) + stop_gradient(x) + 1.; }), 0);
}

TEST(Sparsity, OfOtherShapesAndDtypes) {
  EXPECT_EQ(jacobian_sparsity([](const Array& x) { return x * x; }, ones({2, 3}, f32)).count(), 6);
  EXPECT_EQ(jacobian_sparsity([](const Array& x) { return x * x; }, array(1.)).count(), 1);
  const SparsePattern none = jacobian_sparsity([](const Array& x) { return x * x; }, zeros({0}));
  EXPECT_EQ(none.rows(), 0);
  EXPECT_EQ(none.columns(), 0);
}

TEST(Sparsity, ColoursOfBandsAreTheirWidth) {
  for (const std::int64_t width : {1, 2, 5}) {
    const Array band = abs(expand_dims(arange(40), 1) - arange(40)) < width;
    const std::vector<std::int64_t> colors = SparsePattern::of(band).column_colors();
    EXPECT_EQ(*std::ranges::max_element(colors) + 1, 2 * width - 1);
    // Columns of one colour meet in no row.
    for (std::size_t a = 0; a < colors.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        EXPECT_TRUE(colors[a] != colors[b] || a - b >= static_cast<std::size_t>(2 * width - 1));
  }
}

TEST(Sparsity, PatternsAreStaticValues) {
  const SparsePattern a(2, 3, {0, 1, 3}, {1, 0, 2}), same(2, 3, {0, 1, 3}, {1, 0, 2});
  EXPECT_EQ(a, same);
  EXPECT_EQ(a.transpose().transpose(), a);
  EXPECT_EQ(a.transpose().row_starts()[2], 2);
  EXPECT_EQ(to_string(a), "sparse pattern, 2 × 3 with 3 entries");
  EXPECT_EQ(SparsePattern::of(reshape(array({0., 1., 0., 2., 0., 3.}), {2, 3})), a);
}

}  // namespace
}  // namespace apsis::testing
