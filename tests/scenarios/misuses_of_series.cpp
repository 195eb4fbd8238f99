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

TEST(Misuses, LevenbergMarquardt) {
  // Solve with a matrix that is not square.
  expect_misuse("as many axes, of equal sizes, are needed on both sides", [&] {
    matmul(ones({3, 2}), ones({3}));
  });
  // Residuals of another length.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] {
    sum(square(array({1., 2., 3.}) - array({1., 2.})));
  });
  // A Jacobian of an integer start.
  expect_misuse("write 3. instead of 3, or convert with astype", [&] {
    jacfwd([](const Array& b) { return b * x; })(array({250, 1}));
  });
}

TEST(Misuses, GaussNewton) {
  // The damping as a vector.
  expect_misuse("compare, or reduce with all(…) or any(…)", [&] {
    while_loop([](const Array& d) { return d < 1e12; }, [](const Array& d) { return d * 10.; },
               full({2}, 1e-3));
  });
  // Eye of the wrong size.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] {
    matmul(transpose(ones({5, 3})), ones({5, 3})) + eye(2);
  });
  // Diag of a cube.
  expect_misuse("needs an array with 1 or 2 axes, got shape [2, 2, 2]", [&] { diag(ones({2, 2, 2})); });
}

TEST(Misuses, Kalman) {
  // A state that grows.
  expect_misuse("make the body return what it got, or start from a carry of that shape and dtype", [&] {
    scan(
        [](const Array& c, const Array& y) {
          return std::pair{concatenate({c, expand_dims(y, 0)}), y};
        },
        zeros({1}), x);
  });
  // Series of several lengths.
  expect_misuse("broadcast them first", [&] { stack({x, x[range(1, {})]}); });
  // A transition of another size.
  expect_misuse("as many axes, of equal sizes, are needed on both sides", [&] { dot(eye(2), x); });
}

TEST(Misuses, AssociativeScan) {
  // Entries of different number.
  expect_misuse("cut them to one length", [&] {
    associative_scan(
        [](const std::pair<Array, Array>& a, const std::pair<Array, Array>& b) {
          return std::pair{a.first * b.first, a.second + b.second};
        },
        std::pair{ones({3}), ones({4})});
  });
  // An axis that is not there.
  expect_misuse("it must lie in [-1, 1)", [&] {
    associative_scan([](const Array& a, const Array& b) { return a + b; }, x, {.axis = 1});
  });
  // A scalar.
  expect_misuse("a scalar has no axes",
                [&] { associative_scan([](const Array& a, const Array& b) { return a + b; }, array(1.)); });
}

TEST(Misuses, ExtendedKalman) {
  // Mapping over columns that are not there.
  expect_misuse("map another axis, or none ({})", [&] {
    vmap([](const Array& c) { return c; }, {.in_axes = {2}})(ones({3, 4}));
  });
  // Out axis too far.
  expect_misuse("out axis 3 of result is out of range for its 2 axes", [&] {
    vmap([](const Array& c) { return c; }, {.out_axes = {3}})(ones({3, 4}));
  });
  // An integer state.
  expect_misuse("write 3. instead of 3, or convert with astype", [&] {
    jacfwd([](const Array& s) { return s * 2.; })(array({1, 2}));
  });
}

TEST(Misuses, Particles) {
  // One key for all lanes.
  expect_misuse("make one with random::key(seed), and take one row of split's keys",
                [&] { vmap([](const Array& k) { return random::normal(k, {3}); })(random::key(1)); });
  // Float positions.
  expect_misuse("convert with astype, or use `where` for conditions", [&] { take(x, x, 0); });
  // A negative number of draws.
  expect_misuse("a count must not be negative, got [-3]", [&] { random::normal(random::key(1), {-3}); });
}

TEST(Misuses, HiddenMarkov) {
  // Logits of another shape.
  expect_misuse("the shape [5] must end in the shape [3] of the logits without their axis", [&] {
    random::categorical(random::key(0), ones({3, 4}), -1, {5});
  });
  // State index as a double.
  expect_misuse("convert with astype, or use `where` for conditions", [&] {
    log(ones({3, 4}))(range(), array(1.));
  });
  // Maximum over nothing.
  expect_misuse("test the shape first", [&] { max(zeros({0})); });
}

TEST(Misuses, Greeks) {
  // Hessian of several prices.
  expect_misuse("reduce it (sum, mean), or use jacrev for functions with many results", [&] {
    hessian([](const Array& s) { return s * s; })(array({1., 2.}));
  });
  // An integer spot.
  expect_misuse("write 3. instead of 3, or convert with astype",
                [&] { grad([](const Array& s) { return s * s; })(100); });
  // Gradient of a Boolean.
  expect_misuse("convert them with astype, or write 1. instead of 1",
                [&] { grad([](const Array& s) { return s > 1.; })(100.); });
}

TEST(Misuses, ImpliedVolatility) {
  // Condition on a vector.
  expect_misuse("compare, or reduce with all(…) or any(…)", [&] {
    while_loop([](const Array& v) { return abs(v) > 1e-8; }, [](const Array& v) { return v / 2.; }, x);
  });
  // Prices and strikes of different number.
  expect_misuse("all mapped axes must be equally long",
                [&] { vmap([](const Array& p, const Array& k) { return p * k; })(ones({3}), ones({4})); });
  // Nothing to map.
  expect_misuse("map at least one array, or give axis_size", [&] {
    vmap([](const Array& p, const Array& k) { return p * k; }, {.in_axes = {{}, {}}})(ones({3}), ones({3}));
  });
}

TEST(Misuses, BinomialTree) {
  // One level too many.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] { x[range(1, {})] + x; });
  // Value of the wrong length.
  expect_misuse("make the body return what it got, or start from a carry of that shape and dtype", [&] {
    fori_loop(
        0, 3, [](const Array&, const Array& v) { return v[range(1, {})]; }, x);
  });
  // Bounds as doubles.
  expect_misuse("convert them with astype", [&] {
    fori_loop(
        0., 3., [](const Array&, const Array& v) { return v; }, x);
  });
}

TEST(Misuses, AmericanRegression) {
  // Regression of transposed paths.
  expect_misuse("as many axes, of equal sizes, are needed on both sides", [&] {
    matmul(ones({4, 100}), ones({4, 100}));
  });
  // Cumulative sum over two axes.
  expect_misuse("reshape to join axes", [&] { cumsum(ones({3, 4}), {.axis = {0, 1}}); });
  // Joining antithetic paths on the wrong axis.
  expect_misuse("the shapes must agree in all axes but axis 0", [&] {
    concatenate({ones({3, 4}), ones({3, 5})}, 0);
  });
}

TEST(Misuses, AsianPaths) {
  // A seed instead of a key.
  expect_misuse("make one with random::key(seed), and take one row of split's keys",
                [&] { random::normal(array(3), {4}); });
  // Splitting keys.
  expect_misuse("make one with random::key(seed), and take one row of split's keys",
                [&] { random::split(random::split(random::key(0), 4), 2); });
  // Scan without steps.
  expect_misuse("give {.length = n}", [&] {
    scan([](const Array& c, const Nothing&) { return std::pair{c, c}; }, 1., Nothing{});
  });
}

TEST(Misuses, Heston) {
  // Uniform of integers.
  expect_misuse("convert with astype", [&] { random::uniform(random::key(1), {3}, i32); });
  // Bits of doubles.
  expect_misuse("convert with astype", [&] { random::bits(random::key(1), {3}, f64); });
  // Float seed.
  expect_misuse("a seed is a scalar integer, got f64[]", [&] { random::key(array(1.5)); });
}

TEST(Misuses, Bootstrap) {
  // Discount beyond the curve.
  expect_misuse("negative numbers count from the end", [&] { x[7]; });
  // Set with a vector.
  expect_misuse("values of shape [3] do not broadcast to the indexed shape [] of an array of shape [3]",
                [&] { x.at(0).set(x); });
  // Newton that does not end.
  expect_misuse("raise max_steps, or make the loop end", [&] {
    while_loop([](const Array& v) { return v > 0.; }, [](const Array& v) { return v; }, 1.,
               {.max_steps = 10});
  });
}

TEST(Misuses, NelsonSiegel) {
  // Loss that is not scalar.
  expect_misuse("reduce it (sum, mean), or use jacrev for functions with many results",
                [&] { minimize([](const Array& p) { return p; }, x); });
  // Integer start.
  expect_misuse("convert with astype, or pass it as one of args", [&] {
    minimize([](const Array& p) { return sum(p * p); }, array({1, 2}));
  });
  // Negative steps.
  expect_misuse("max_steps = -1 must be 0 or more",
                [&] { minimize([](const Array& p) { return sum(p * p); }, x, {.max_steps = -1}); });
}

TEST(Misuses, Portfolio) {
  // Sort along an axis that is not there.
  expect_misuse("it must lie in [-1, 1)", [&] { sort(x, 1); });
  // Clip with bounds of other shape.
  expect_misuse("insert axes of size 1 with expand_dims or reshape", [&] { clip(x, zeros({2}), 1.); });
  // Weights of fewer assets.
  expect_misuse("values of shape [2] do not broadcast to the indexed shape [3] of an array of shape [3]",
                [&] { x.at(range()).set(ones({2})); });
}

}  // namespace
}  // namespace apsis::scenarios
