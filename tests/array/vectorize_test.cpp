// vectorize and its kin, against loops.

#include "apsis/array/vectorize.hpp"
#include "apsis/array/index.hpp"
#include "apsis/control/while_loop.hpp"
#include "apsis/ops/linalg.hpp"
#include "apsis/ops/math.hpp"
#include "array/suite.hpp"

namespace apsis::testing {
namespace {

Array counted(const Shape& shape) {
  return reshape(sin(arange(static_cast<double>(shape.product()))), shape);
}

Array distance(const Array& a, const Array& b) { return norm(a - b); }

TEST(Vectorize, SignaturesBroadcastWhatIsInFront) {
  const auto f = vectorize(distance, {.signature = "(n),(n)->()"});
  const Array a = counted({4, 1, 3}), b = counted({5, 3}) + 1.;
  const Array all = f(a, b);
  ASSERT_EQ(all.shape(), (Shape{4, 5}));
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 5; ++j)
      EXPECT_EQ(all(i, j).item<double>(), distance(a(i, 0), b[j]).item<double>()) << i << " " << j;
  expect_identical({jit(f)(a, b)}, {all}, "compiled");
  EXPECT_EQ(f(a(0, 0), b[0]).shape(), (Shape{}));
  EXPECT_EQ(f(counted({2, 1, 3}), counted({1, 1, 3})).shape(), (Shape{2, 1}));
  EXPECT_EQ(f(counted({0, 3}), counted({1, 3})).shape(), (Shape{0}));
  EXPECT_EQ(f(counted({1, 1, 3}), counted({3})).shape(), (Shape{1, 1}));
  assert_numerical_gradients(f, std::tuple{a, b});
  const Array lanes = jit(vmap(f, {.in_axes = {0, {}}}))(a, b);
  expect_identical({reshape(lanes, {4, 5})}, {all}, "vmap");
}

struct Split {
  Array low, high;
};

TEST(Vectorize, SeveralResults) {
  const auto f = vectorize(
      [](const Array& m, const Array& v, const Array& s) {
        return std::pair(matmul(m, v) * s, Split{min(v), outer(v, v)});
      },
      {.signature = "(m, n), (n), () -> (m), (), (n, n)"});
  const Array m = counted({2, 1, 3, 4}), v = counted({5, 4}), s = counted({2, 5});
  const auto [product, split] = f(m, v, s);
  EXPECT_EQ(product.shape(), (Shape{2, 5, 3}));
  EXPECT_EQ(split.low.shape(), (Shape{2, 5}));
  EXPECT_EQ(split.high.shape(), (Shape{2, 5, 4, 4}));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 5; ++j) {
      expect_identical({product(i, j)}, {matmul(m(i, 0), v[j]) * s(i, j)}, "product");
      expect_identical({split.high(i, j)}, {outer(v[j], v[j])}, "outer");
    }
}

/// How often x is halved until it is below 1: a loop that each element leaves when it likes.
Array halvings(const Array& x) {
  const auto last =
      while_loop([](const std::pair<Array, Array>& s) { return s.first >= 1.; },
                 [](const std::pair<Array, Array>& s) { return std::pair(s.first / 2., s.second + 1); },
                 std::pair(x, array(std::int64_t{0})));
  return last.second;
}

TEST(Vectorize, LoopsOfScalars) {
  const auto f = vectorize(halvings);
  const Array x = array({{0.5, 1., 9.}, {1000., 2., 3.}});
  EXPECT_EQ(f(x).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 4, 10, 2, 2}));
  expect_identical({jit(f)(x)}, {f(x)}, "compiled");
  EXPECT_EQ(f(array(4.)).item<std::int64_t>(), 3);
}

TEST(Vectorize, WithoutSignatureResultsMayHaveAxes) {
  const auto f = vectorize([](const Array& a, const Array& b) { return stack({a, b, a * b}); });
  const Array y = f(array({1., 2.}), array({{3.}, {4.}, {5.}}));
  ASSERT_EQ(y.shape(), (Shape{3, 2, 3}));
  EXPECT_EQ(y(2, 1).to_vector<double>(), (std::vector{2., 5., 10.}));
}

TEST(Vectorize, ArraysOfFunctionsOfTheirIndices) {
  const Array hilbert = fromfunction([](const Array& i, const Array& j) { return 1. / (i + j + 1); }, {2, 3});
  ASSERT_EQ(hilbert.shape(), (Shape{2, 3}));
  EXPECT_EQ(hilbert.to_vector<double>(), (std::vector{1., 1. / 2, 1. / 3, 1. / 2, 1. / 3, 1. / 4}));
  EXPECT_EQ(fromfunction([](const Array& i) { return stack({i, i * i}); }, {4}).shape(), (Shape{4, 2}));
  EXPECT_EQ(fromfunction([](const Array& i) { return i; }, {0}).shape(), (Shape{0}));
}

TEST(Vectorize, ExcludedArgumentsAreAsTheyAre) {
  const auto f =
      vectorize([](const Array& x, const Array& table, int power) { return sum(table) * pow(x, power); },
                {.signature = "()->()", .excluded = {1}});
  EXPECT_EQ(f(array({1., 2.}), array({1., 2., 3.}), 2).to_vector<double>(), (std::vector{6., 24.}));
}

TEST(ApplyAlongAxis, AxesOfResultsStandInItsPlace) {
  const Array x = counted({2, 3, 4});
  for (int axis : {0, 1, 2, -1}) {
    const auto along = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    expect_identical({apply_along_axis([](const Array& v) { return sum(v); }, axis, x)},
                     {sum(x, {.axis = axis})}, "sum");
    expect_identical({apply_along_axis([](const Array& v) { return cumsum(v, {.axis = 0}); }, axis, x)},
                     {cumsum(x, {.axis = axis})}, "cumsum");
    const Array squares = apply_along_axis([](const Array& v) { return outer(v, v); }, axis, x);
    Shape shape = x.shape();
    shape.insert(along, shape[along]);
    EXPECT_EQ(squares.shape(), shape);
  }
  const Array squares = apply_along_axis([](const Array& v) { return outer(v, v); }, 1, x);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      expect_identical({squares(i, range(), range(), j)}, {outer(x(i, range(), j), x(i, range(), j))},
                       "outer");
  EXPECT_EQ(apply_along_axis([](const Array& v) { return v[range(0, 2)]; }, 0, array({1., 2., 3.})).shape(),
            (Shape{2}));
  assert_numerical_gradients(
      [](const Array& v) { return apply_along_axis([](const Array& a) { return a / norm(a); }, 1, v); },
      std::tuple{x + 2.});
}

TEST(ApplyOverAxes, KeepsTheAxes) {
  const Array x = counted({2, 3, 4});
  const auto add = [](const Array& a, int axis) { return sum(a, {.axis = axis}); };
  expect_identical({apply_over_axes(add, x, {0, -1})},
                   {sum(sum(x, {.axis = 0, .keepdims = true}), {.axis = 2, .keepdims = true})}, "sum");
  const auto running = [](const Array& a, int axis) { return cumsum(a, {.axis = axis}); };
  expect_identical({apply_over_axes(running, x, {1, 0})}, {cumsum(cumsum(x, {.axis = 1}), {.axis = 0})},
                   "cumsum");
}

TEST(Piecewise, TheLastConditionCounts) {
  const Array x = array({-4., -1., 0., 0.25, 2., 9.});
  const auto f = [](const Array& v) {
    return piecewise(v, {v<0., v> 1., v > 5.}, {abs, 10., [](const Array& a) { return a * a; }, sqrt});
  };
  EXPECT_EQ(f(x).to_vector<double>(), (std::vector{4., 1., 0., 0.5, 10., 81.}));
  expect_identical({jit(f)(x)}, {f(x)}, "compiled");
  // The root's derivative is infinite at 0, where it counts, and NaN below it, where it does not.
  const Array slopes = grad([&](const Array& v) { return sum(f(v)); })(x);
  EXPECT_EQ(slopes.to_vector<double>(),
            (std::vector{-1., -1., std::numeric_limits<double>::infinity(), 1., 0., 18.}));
  EXPECT_EQ(piecewise(x, {x < 0.}, {1.}).to_vector<double>(), (std::vector{1., 1., 0., 0., 0., 0.}));
  const Array n = array({1, 2, 3});
  EXPECT_EQ(piecewise(n, {n > 1}, {2.75, -1}).dtype(), i32);
}

}  // namespace
}  // namespace apsis::testing
