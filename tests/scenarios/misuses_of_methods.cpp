// Usual mistakes in the programs of this directory, three and more for each: what the message says to do
// about it, and that it names the user's line.

#include <cmath>
#include <map>

#include "scenarios/linear.hpp"
#include "scenarios/ways.hpp"

namespace apsis::scenarios {
namespace {

const Array x = array({1., 2., 3.});
[[maybe_unused]] const auto decay = [](const Array&, const Array& y) { return -y; };

TEST(Misuses, Logistic) {
  // Classes that are doubles.
  expect_misuse("convert with astype, or use `where` for conditions", [&] {
    take_along_axis(ones({3, 2}), ones({3, 1}), 1);
  });
  // Indices with too few axes.
  expect_misuse("add axes with expand_dims", [&] { take_along_axis(ones({3, 2}), array({0, 1, 0}), 1); });
  // Bias of another size.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] {
    matmul(ones({5, 4}), ones({4, 3})) + ones({4});
  });
}

TEST(Misuses, Digits) {
  // Batch and labels of different number.
  expect_misuse("all mapped axes must be equally long", [&] {
    vmap([](const Array& v, const Array& k) { return v[k]; })(ones({5, 3}), array({0, 1}));
  });
  // Permuting a scalar.
  expect_misuse("needs an array with 1 or more axes, got shape []",
                [&] { random::permutation(random::key(0), array(1.)); });
  // A batch for a layer that takes one.
  expect_misuse("for a batch of them use vmap", [&] {
    nn::make_linear({.in = 64, .out = 10}, random::key(0))(ones({8, 64}));
  });
}

TEST(Misuses, Recurrent) {
  // State and input of other sizes.
  expect_misuse("as many axes, of equal sizes, are needed on both sides", [&] {
    dot(ones({2, 4}), concatenate({ones({2}), ones({1})}));
  });
  // The gate as a matrix.
  expect_misuse("make the body return what it got, or start from a carry of that shape and dtype", [&] {
    scan([](const Array& h, const Array& v) { return std::pair{outer(h, h) * v, v}; }, ones({2}), x);
  });
  // Series along a missing axis.
  expect_misuse("capture it in the body instead", [&] {
    scan([](const Array& h, const Array& v) { return std::pair{h + v, h}; }, 0., array(3.));
  });
}

TEST(Misuses, Mixture) {
  // Weights of another number.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] { ones({5, 2}) * ones({3}); });
  // Variance over a missing axis.
  expect_misuse("it must lie in [-1, 1)", [&] { var(x, {.axis = 3}); });
  // Responsibilities along a missing axis.
  expect_misuse("f64[3] has no axis 1", [&] { softmax(x, 1); });
}

TEST(Misuses, Clusters) {
  // Labels from a scalar.
  expect_misuse("a scalar has no axes", [&] { argmin(array(1.), {.axis = 0}); });
  // No centres.
  expect_misuse("test the shape first", [&] { argmin(zeros({5, 0}), {.axis = 1}); });
  // Comparing tables of different width.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] {
    sum(square(ones({5, 1, 4}) - ones({3, 3})));
  });
}

TEST(Misuses, Components) {
  // Outer of a missing axis.
  expect_misuse("it must lie in [-1, 1)", [&] { swapaxes(x, 0, 1); });
  // Matrix product of a scalar.
  expect_misuse("a scalar has no axis to contract (shapes [] and [3]); multiply with *",
                [&] { matmul(2., x); });
  // Contracting too many axes.
  expect_misuse("give a number up to the smaller rank", [&] { tensordot(x, x, 2); });
}

TEST(Misuses, GaussianProcess) {
  // Einsum with letters that are not there.
  expect_misuse("write letters for the axes of each operand, such as \"ij,jk->ik\"", [&] {
    einsum("ij,jk->il", {eye(2), eye(2)});
  });
  // A kernel that is not square.
  expect_misuse("needs an array with 2 axes, got shape [3]", [&] { tril(x); });
  // A covariance that is not square.
  expect_misuse("needs square matrices, got f64[3,2]", [&] { linalg::cholesky(ones({3, 2})); });
}

TEST(Misuses, Autoregression) {
  // Lags of different lengths.
  expect_misuse("broadcast them first", [&] { stack({x[range(0, 3)], x[range(0, 2)]}, 1); });
  // Differences of a scalar.
  expect_misuse("a scalar has no axes", [&] { diff(array(1.)); });
  // Places that do not ascend.
  expect_misuse("the places [2, 1] must ascend and lie within axis 0 of shape [3]", [&] {
    split_at(x, {2, 1});
  });
}

TEST(Misuses, Epidemic) {
  // Data of another number of days.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] {
    mean(square(
        diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, array(1.), {.saveat = {.ts = array({0.5, 1.})}})
            .ys -
        ones({3})));
  });
  // Rates in another order of types.
  expect_misuse("to solve for many times at once use vmap", [&] {
    diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., array({0.1, 0.1}), x);
  });
  // A day after the last.
  expect_misuse("save times must lie between t0 = 0.0 and t1 = 1.0", [&] {
    diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, x, {.saveat = {.ts = {0.5, 1.5}}});
  });
}

TEST(Misuses, LynxAndHare) {
  // Starts along the wrong axis.
  expect_misuse("the number must be that axis' size", [&] {
    vmap([](const Array& s) { return unstack<6>(s)[0]; }, {.in_axes = {1}})(ones({5, 6}));
  });
  // Years out of order.
  expect_misuse("save times must be sorted from t0 to t1", [&] {
    diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, x, {.saveat = {.ts = {0.5, 0.25}}});
  });
  // Tolerances forgotten.
  expect_misuse("rtol and atol must be given, such as PIDController{.rtol = 1e-6, .atol = 1e-9}", [&] {
    diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, x, {.controller = PIDController{}});
  });
}

TEST(Misuses, Metropolis) {
  // Counting by a Boolean.
  expect_misuse("make the body return what it got, or start from a carry of that shape and dtype", [&] {
    scan([](const Array& c, const Array& v) { return std::pair{c || (v > 1.), v}; }, 0, x);
  });
  // A draw of bernoulli with shapes that do not fit.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] {
    random::bernoulli(random::key(0), array({0.5, 0.5}), {3});
  });
  // Probabilities of another number.
  expect_misuse("probabilities of shape [2] do not fit entries of shape [3]; give one an entry",
                [&] { random::choice(random::key(0), x, {2}, ones({2})); });
}

TEST(Misuses, Hamiltonian) {
  // A number of steps that is a double.
  expect_misuse("convert them with astype", [&] {
    fori_loop(
        0, random::uniform(random::key(0)), [](const Array&, const Array& q) { return q; }, x);
  });
  // Gradient of a vector potential.
  expect_misuse("reduce it (sum, mean), or use jacrev for functions with many results",
                [&] { grad([](const Array& q) { return q * q; })(x); });
  // Momentum of another dtype.
  expect_misuse("make the body return what it got, or start from a carry of that shape and dtype", [&] {
    while_loop([](const Array& p) { return sum(p) < 3.f; }, [](const Array& p) { return p + astype(p, f64); },
               astype(x, f32));
  });
}

TEST(Misuses, Laplace) {
  // A value from eval_shape.
  expect_misuse(
      "eval_shape or abstract_array made it. Give it to eval_shape, trace, lower or make_graph, or use a "
      "computed Array here",
      [&] { sum(eval_shape([](const Array& v) { return v * v; }, x)).item<double>(); });
  // Dtypes for a logarithm of factorials.
  expect_misuse("take real(z), imag(z), abs(z) or angle(z) of complex numbers",
                [&] { lgamma(astype(x, c128)); });
  // The curvature of many results.
  expect_misuse("reduce it (sum, mean), or use jacrev for functions with many results",
                [&] { hessian([](const Array& v) { return v * v; })(x); });
}

TEST(Misuses, Variational) {
  // An axis name that nobody gave.
  expect_misuse("name it where it is mapped, as in vmap(f, {.axis_name = \"draws\"})",
                [&] { psum(x, "draws"); });
  // Draws by a number in the place of a key.
  expect_misuse("make one with random::key(seed), and take one row of split's keys",
                [&] { random::normal(array(7), {3}); });
  // An integer mean.
  expect_misuse("write 3. instead of 3, or convert with astype",
                [&] { grad([](const Array& m) { return m * m; })(3); });
}

TEST(Misuses, PageRank) {
  // Ranks of another number.
  expect_misuse("as many axes, of equal sizes, are needed on both sides", [&] { dot(eye(4), ones({3})); });
  // Full with a vector.
  expect_misuse("needs a scalar, got shape [3]", [&] { full({3}, x); });
  // Eye of negative size.
  expect_misuse("the shape [-2, -2] has a negative size", [&] { eye(-2); });
}

TEST(Misuses, Knapsack) {
  // A table of doubles.
  expect_misuse("make the body return what it got, or start from a carry of that shape and dtype", [&] {
    fori_loop(
        0, 3, [](const Array& i, const Array& t) { return t.at(i).set(1) * 0.5; }, zeros({3}, i64));
  });
  // Values of doubles in a table of integers.
  expect_misuse("would lose their fractions in an array of i64[3]", [&] { zeros({3}, i64).at(1).set(0.5); });
  // Weights that are doubles.
  expect_misuse("convert with astype, or use `where` for conditions", [&] { zeros({5})[array({1., 2.})]; });
  // Integers to a negative power.
  expect_misuse("convert the base to a floating dtype", [&] { pow(array({2, 3}), -1); });
}

TEST(Misuses, EditDistance) {
  // Words of different lengths in one batch.
  expect_misuse("all mapped axes must be equally long", [&] {
    vmap([](const std::vector<Array>& a) { return a[0]; })(std::vector<Array>{ones({3}), ones({4})});
  });
  // An update that does not fit.
  expect_misuse("values of shape [2] do not broadcast to the indexed shape [3] of an array of shape [3, 3]",
                [&] {
                  zeros({3, 3}).at(range(), 0).set(ones({2}));
                });
  // Shifting by a double.
  expect_misuse("convert with astype", [&] { Array shifted = array({1, 2}) << 1.5; });
}

TEST(Misuses, ShortestPaths) {
  // An empty list of edges.
  expect_misuse("an empty list has no dtype", [&] { concatenate({}); });
  // A row from a vector.
  expect_misuse("give at most one an axis", [&] { x(0, range()); });
  // Expand beyond the rank.
  expect_misuse("it must lie in [-2, 2)", [&] { expand_dims(x, 4); });
}

TEST(Misuses, Collatz) {
  // Branches of other dtypes.
  expect_misuse("result is f32[] in branch 0 and i32[] in branch 1", [&] {
    cond(
        true, [](const Array& n) { return n / 2; }, [](const Array& n) { return 3 * n + 1; }, array(6));
  });
  // No branches fit.
  expect_misuse("the index must be an integer scalar, got i32[2]", [&] {
    switch_(array({0, 1}), std::tuple{[](const Array& v) { return v; }, [](const Array& v) { return -v; }},
            x);
  });
  // A bound that is too low.
  expect_misuse("raise max_steps, or make the loop end", [&] {
    while_loop([](const Array& n) { return n > 1; },
               [](const Array& n) { return where(n % 2 == 0, floor_divide(n, 2), 3 * n + 1); }, array(27),
               {.max_steps = 100});
  });
}

TEST(Misuses, Sorting) {
  // Sorting tables of different shape.
  expect_misuse("arrays sorted together must have one shape, got [2] and [3]", [&] {
    sort(std::vector<Array>{x, ones({2})});
  });
  // Searching in a matrix.
  expect_misuse("needs an array with 1 axes, got shape [2, 2]", [&] { searchsorted(ones({2, 2}), 1.); });
  // More keys than columns.
  expect_misuse("give a number from 1 to the number of arrays", [&] {
    sort(std::vector<Array>{x, x}, 0, 3);
  });
}

TEST(Misuses, OwnRules) {
  // A rule of another shape.
  expect_misuse("return what the function itself returns, and derivatives like what they are of", [&] {
    grad(custom_vjp([](const Array& v) { return sum(v); },
                    [](const Array& v) {
                      return std::pair{sum(v), v};
                    },
                    [](const Array& v, const Array&) { return v[0]; }))(x);
  });
  // The tangent in another dtype.
  expect_misuse("return what the function itself returns, and derivatives like what they are of", [&] {
    jvp(custom_jvp([](const Array& v) { return v; },
                   [](const std::tuple<Array>& v, const std::tuple<Array>& d) {
                     return std::pair{std::get<0>(v), astype(std::get<0>(d), f32)};
                   }),
        x, x);
  });
  // A tangent of another shape.
  expect_misuse("shapes and dtypes must agree", [&] { jvp([](const Array& v) { return v; }, x, 1.); });
}

TEST(Misuses, Convolution) {
  // A kernel larger than the image.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] {
    ones({2, 2})(range(0, 3), range(5, 1)) + ones({3, 3});
  });
  // Repeating a negative number of times.
  expect_misuse("a count must not be negative, got -1", [&] { repeat(x, -1, 0); });
  // Broadcasting to a smaller picture.
  expect_misuse("counted from the last axis, each size must be that of the target or 1", [&] {
    broadcast_to(ones({3, 4}), {4});
  });
}

TEST(Misuses, Registration) {
  // Coordinates that are doubles.
  expect_misuse("convert with astype, or use `where` for conditions", [&] {
    ones({4, 4})(array(1.5), array(2.5));
  });
  // Grids that do not fit.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] {
    ones({4, 4})(array({0, 1}), array({0, 1, 2}));
  });
  // Flip along a missing axis.
  expect_misuse("it must lie in [-1, 1)", [&] { flip(x, {1}); });
}

TEST(Misuses, Life) {
  // A board with holes.
  expect_misuse("make all rows equally long", [&] { array({{1, 0}, {1}}); });
  // Generations as a vector.
  expect_misuse("convert them with astype", [&] {
    fori_loop(
        0, array({4, 5}), [](const Array&, const Array& b) { return b; }, x);
  });
  // A board of negative size.
  expect_misuse("the shape [-1, 4] has a negative size", [&] { zeros({-1, 4}); });
}

}  // namespace
}  // namespace apsis::scenarios
