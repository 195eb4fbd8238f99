// Assertions: each holds where it should, and says what is wrong where it does not, in eager and in traced
// code.

#include <cmath>
#include <limits>
#include <optional>
#include <apsis/apsis.hpp>

#include "apsis/debug/gtest.hpp"

namespace apsis {
namespace {

struct Layer {
  Array weight, bias;
};
struct Net {
  std::vector<Layer> layers;
  int depth = 2;
};

Net net() { return {{{ones({2, 3}), zeros({2})}, {ones({1, 2}), zeros({1})}}}; }

/// The failure's text without its place; empty where it holds.
template <class Call>
std::string failure(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("assert_test.cpp"), what.npos) << "the place is named: " << what;
    EXPECT_STREQ(error.id(), "assertion");
    return what.substr(0, what.find("\n  at "));
  }
  return {};
}

TEST(AssertArray, Shapes) {
  Array x = zeros({32, 5, 3});
  EXPECT_HOLDS(assert_shape(x, {32, 5, 3}));
  EXPECT_HOLDS(assert_shape(x, {32, any_length, {1, 3}}));
  EXPECT_HOLDS(assert_shape(x, {ellipsis, 3}));
  EXPECT_HOLDS(assert_shape(x, {32, ellipsis}));
  EXPECT_HOLDS(assert_shape(x, {32, ellipsis, 5, 3}));
  EXPECT_HOLDS(assert_shape(x, {"batch", any_length, "channels"}));
  EXPECT_HOLDS(assert_shape(array(1.), {}));
  EXPECT_HOLDS(assert_shape(zeros({4, 4}), {"n", "n"}));
  EXPECT_EQ(failure([&] {
              assert_shape(x, {32, 4, 3});
            }),
            "[assert_shape] shape [32, 5, 3] is not [32, 4, 3]: axis 1 is 5 long, not 4");
  EXPECT_EQ(
      failure([&] {
        assert_shape(x, {ellipsis, {1, 4}}, {.message = "an image"});
      }),
      "[assert_shape] an image: shape [32, 5, 3] is not [..., (1 or 4)]: axis 2 is 3 long, not (1 or 4)");
  EXPECT_EQ(failure([&] {
              assert_shape(x, {32, 5});
            }),
            "[assert_shape] shape [32, 5, 3] is not [32, 5]: it has 3 axes, not 2");
  EXPECT_EQ(failure([&] {
              assert_shape(x, {1, 1, 1, ellipsis, any_length});
            }),
            "[assert_shape] shape [32, 5, 3] is not [1, 1, 1, ..., any]: it has 3 axes, not 4 or more");
  EXPECT_EQ(failure([&] {
              assert_shape(x, {"n", "n", 3});
            }),
            "[assert_shape] shape [32, 5, 3] is not [n, n, 3]: axis 1 is 5 long, not 32, which n is");
}

TEST(AssertArray, NamedDimensionsAreShared) {
  Dimensions dims{{"out", 7}};
  assert_shape(zeros({32, 5}), {"batch", "in"}, dims);
  assert_shape(zeros({5, 7}), {"in", "out"}, dims);
  EXPECT_EQ(dims["batch"], 32);
  EXPECT_EQ(dims.shape({"out", "batch"}), (Shape{7, 32}));
  EXPECT_EQ(failure([&] {
              assert_shape(zeros({9, 6}), {"new", "in"}, dims);
            }),
            "[assert_shape] shape [9, 6] is not [new, in]: axis 1 is 6 long, not 5, which in is");
  EXPECT_EQ(dims.find("new"), nullptr) << "what failed binds nothing";
}

TEST(AssertArray, EqualShapes) {
  Array a = zeros({2, 3, 4}), b = zeros({2, 3, 5}), c = zeros({3, 5});
  EXPECT_HOLDS(assert_equal_shape({a, a}));
  EXPECT_HOLDS(assert_equal_shape({a, b}, std::vector{0, -2}));
  EXPECT_HOLDS(assert_equal_shape_prefix({a, b}, 2));
  EXPECT_HOLDS(assert_equal_shape_suffix({b, c}, 2));
  EXPECT_EQ(failure([&] {
              assert_equal_shape({a, a, b});
            }),
            "[assert_equal_shape] array 0 has shape [2, 3, 4], array 2 has shape [2, 3, 5]");
  EXPECT_EQ(failure([&] {
              assert_equal_shape({a, b}, std::vector{-1});
            }),
            "[assert_equal_shape] array 0 has shape [2, 3, 4], axis -1: 4, array 1 has shape [2, 3, 5], axis "
            "-1: 5");
  EXPECT_EQ(failure([&] {
              assert_equal_shape_prefix({a, c}, 3);
            }),
            "[assert_equal_shape_prefix] array 1 has shape [3, 5], which has no 3 axes");
  EXPECT_NE(failure([&] { assert_equal_shape_suffix({a, b}, 1); }), "");
}

TEST(AssertArray, RanksSizesAxes) {
  Array x = zeros({4, 6});
  EXPECT_HOLDS(assert_rank(x, 2));
  EXPECT_HOLDS(assert_rank(x, {1, 2}));
  EXPECT_HOLDS(assert_scalar(array(3.)));
  EXPECT_HOLDS(assert_equal_rank({x, zeros({1, 1})}));
  EXPECT_HOLDS(assert_size(x, {24, 25}));
  EXPECT_HOLDS(assert_equal_size({x, zeros({24})}));
  EXPECT_HOLDS(assert_axis_dimension(x, -1, 6));
  EXPECT_HOLDS(assert_axis_dimension(x, 0, at_least(4)));
  EXPECT_HOLDS(assert_axis_dimension(x, 0, less_than(5)));
  EXPECT_HOLDS(assert_broadcastable(zeros({6}), {4, 6}));
  EXPECT_HOLDS(assert_broadcastable(zeros({4, 1}), {4, 6}));
  EXPECT_HOLDS(assert_divisible(24, 6));
  EXPECT_EQ(failure([&] {
              assert_rank(x, {0, 1, 3});
            }),
            "[assert_rank] shape [4, 6] has 2 axes, not 0, 1 or 3");
  EXPECT_NE(failure([&] { assert_scalar(x); }), "");
  EXPECT_NE(failure([&] { assert_equal_rank({x, zeros({1})}); }), "");
  EXPECT_EQ(failure([&] { assert_size(x, {23}); }), "[assert_size] shape [4, 6] has 24 elements, not 23");
  EXPECT_NE(failure([&] { assert_equal_size({x, zeros({1})}); }), "");
  EXPECT_EQ(failure([&] { assert_axis_dimension(x, 1, more_than(6)); }),
            "[assert_axis_dimension] shape [4, 6]: axis 1 is 6 long, not at least 7");
  EXPECT_EQ(failure([&] { assert_axis_dimension(x, 1, at_most(5)); }),
            "[assert_axis_dimension] shape [4, 6]: axis 1 is 6 long, not at most 5");
  EXPECT_NE(failure([&] { assert_axis_dimension(x, 2, 6); }), "");
  EXPECT_EQ(failure([&] {
              assert_broadcastable(zeros({4}), {4, 6});
            }),
            "[assert_broadcastable] shape [4] cannot be broadcast to [4, 6]");
  EXPECT_NE(failure([&] { assert_broadcastable(zeros({1, 4, 6}), {4, 6}); }), "");
  EXPECT_EQ(failure([&] { assert_divisible(24, 7); }), "[assert_divisible] 24 is not divisible by 7");
}

TEST(AssertArray, Dtypes) {
  Array x = array({1., 2.});
  EXPECT_HOLDS(assert_dtype(x, f64));
  EXPECT_HOLDS(assert_dtype(x, {f32, f64}));
  EXPECT_HOLDS(assert_dtype(x, DtypeKind::Floating));
  EXPECT_HOLDS(assert_dtype(array({1, 2}), DtypeKind::SignedInteger));
  EXPECT_EQ(failure([&] { assert_dtype(x, {f32, i64}); }), "[assert_dtype] f64[2] is not f32 or i64");
  EXPECT_EQ(failure([&] { assert_dtype(x, DtypeKind::Integer); }), "[assert_dtype] f64[2] is not an integer");
}

// What looks at shapes alone is done while tracing, under every transformation.
TEST(AssertArray, HoldWhileTracing) {
  auto f = [](const Array& x) {
    assert_shape(x, {3});
    assert_dtype(x, f64);
    return sum(x * x);
  };
  Array x = array({1., 2., 3.}), many = ones({4, 3});
  EXPECT_HOLDS(jit(grad(f))(x));
  EXPECT_HOLDS(jit(vmap(f))(many));
  EXPECT_EQ(failure([&] {
              jit(grad(f))(array({1., 2.}));
            }),
            "[assert_shape] shape [2] is not [3]: axis 0 is 2 long, not 3");
}

TEST(AssertTrees, Structure) {
  Net a = net(), other = net();
  EXPECT_HOLDS(assert_trees_equal_structure(a, other));
  EXPECT_HOLDS(assert_trees_equal_shapes_and_dtypes(a, other));
  other.layers[1].weight = Array(1.f, f32);
  EXPECT_HOLDS(assert_trees_equal_structure(a, other));
  EXPECT_EQ(failure([&] { assert_trees_equal_shapes(a, other); }),
            "[assert_trees_equal_shapes] layers[1].weight: the first has shape [1, 2], the second shape []");
  EXPECT_EQ(failure([&] { assert_trees_equal_dtypes(a, other); }),
            "[assert_trees_equal_dtypes] layers[1].weight: the first has dtype f64, the second dtype f32");
  EXPECT_EQ(failure([&] { assert_trees_equal_sizes(a, other); }),
            "[assert_trees_equal_sizes] layers[1].weight: the first has 2 elements, the second 1 elements");
  EXPECT_NE(failure([&] { assert_trees_equal_shapes_and_dtypes(a, other); }), "");
  other.layers.pop_back();
  EXPECT_EQ(failure([&] { assert_trees_equal_structure(a, other); }),
            "[assert_trees_equal_structure] " + structure_difference(a, other));
  other = net();
  other.layers[0].bias = Array();
  EXPECT_EQ(tree_paths(std::pair{a, a.layers})[0], "first.layers[0].weight") << "no dot in front";
  EXPECT_EQ(failure([&] { assert_trees_equal_structure(a, other); }),
            "[assert_trees_equal_structure] layers[0].bias is empty in the second alone");
}

TEST(AssertTrees, Close) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  Net a = net(), b = net();
  b.layers[0].weight = b.layers[0].weight + 1e-7;
  EXPECT_HOLDS(assert_trees_close(a, b));
  EXPECT_HOLDS(assert_trees_close(array({nan, inf, 1.}), array({nan, inf, 1.})));
  EXPECT_HOLDS(assert_trees_close(Array(0.1f, f32), array(0.1)));
  b.layers[0].weight = array({{1., 1., 1.}, {1., 1.5, 1.25}});
  EXPECT_EQ(failure([&] { assert_trees_close(a, b, {.rtol = 0.1, .message = "after one step"}); }),
            "[assert_trees_close] after one step: layers[0].weight[1, 1] is 1.0, not 1.5 (2 of 6 elements "
            "are not as "
            "required, the largest difference is 0.5)");
  EXPECT_HOLDS(assert_trees_close(a, b, {.rtol = 0, .atol = 0.5}));
  EXPECT_EQ(failure([&] { assert_trees_close(array(1.), array(2.)); }),
            "[assert_trees_close] the value is 1.0, not 2.0");
  for (double wrong : {nan, inf, -inf, 0.}) {
    EXPECT_NE(failure([&] { assert_trees_close(array({1., wrong}), array({1., 1.})); }), "") << wrong;
    EXPECT_NE(failure([&] { assert_trees_close(array({1., 1.}), array({1., wrong})); }), "") << wrong;
  }
  EXPECT_NE(failure([&] { assert_trees_close(array({1.}), array(1.)); }), "") << "shapes are not broadcast";
  EXPECT_HOLDS(assert_trees_close(zeros({0}), zeros({0})));
}

TEST(AssertTrees, EqualAndUlps) {
  const double one = 1., next = std::nextafter(1., 2.), after = std::nextafter(next, 2.);
  EXPECT_HOLDS(assert_trees_equal(array({1., std::nan("")}), array({1., std::nan("")})));
  EXPECT_EQ(failure([&] {
              assert_trees_equal(array({1, 2}), array({1, 3}));
            }),
            "[assert_trees_equal] [1] is 2, not 3 (1 of 2 elements are not as required, the largest "
            "difference is 1.0)");
  EXPECT_NE(failure([&] { assert_trees_equal(array(1.), array(next)); }), "");
  EXPECT_NE(failure([&] { assert_trees_equal(Array(1.f, f32), array(1.)); }), "") << "dtypes count";
  EXPECT_HOLDS(assert_trees_close_ulp(array(one), array(next)));
  EXPECT_HOLDS(assert_trees_close_ulp(array(0.), array(-0.)));
  EXPECT_HOLDS(assert_trees_close_ulp(array(5e-324), array(-5e-324), {.ulps = 2}));
  EXPECT_HOLDS(assert_trees_close_ulp(Array(1.f, f32), Array(std::nextafter(1.f, 0.f), f32)));
  EXPECT_NE(failure([&] { assert_trees_close_ulp(array(5e-324), array(-5e-324)); }), "");
  EXPECT_NE(
      failure([&] { assert_trees_close_ulp(array(one), array(after)); }).find(": 2 floats apart, not 1"),
      std::string::npos);
  EXPECT_NE(failure([&] { assert_trees_close_ulp(array(one), array(std::nan(""))); }), "");
  EXPECT_NE(failure([&] { assert_trees_close_ulp(array(1), array(2)); }), "") << "integers are equal";
}

TEST(AssertTrees, FiniteFullAndShapes) {
  Net a = net();
  EXPECT_HOLDS(assert_tree_finite(a));
  EXPECT_HOLDS(assert_tree_full(a));
  EXPECT_HOLDS(assert_tree_shape_prefix(std::vector{zeros({4, 1}), zeros({4})}, {4}));
  EXPECT_HOLDS(assert_tree_shape_suffix(std::vector{zeros({4, 1}), zeros({1})}, {1}));
  EXPECT_EQ(failure([&] { assert_tree_shape_prefix(a, {2}); }),
            "[assert_tree_shape_prefix] layers[1].weight has shape [1, 2], which does not begin with [2]");
  EXPECT_NE(failure([&] { assert_tree_shape_suffix(a, {2, 3}); }), "");
  a.layers[1].bias = array({1.}) / 0.;
  EXPECT_EQ(failure([&] { assert_tree_finite(a); }),
            "[assert_tree_finite] layers[1].bias[0] is inf, which is not finite");
  a.layers[1].bias = Array();
  EXPECT_EQ(failure([&] { assert_tree_full(a); }), "[assert_tree_full] leaf `layers[1].bias` is empty");
}

TEST(AssertValue, Ranges) {
  EXPECT_HOLDS(assert_positive(array({1, 2})));
  EXPECT_HOLDS(assert_non_negative(array({0., 2.})));
  EXPECT_HOLDS(assert_negative(array(-1.)));
  EXPECT_HOLDS(assert_in(array({0., 0.5, 1.}), 0., 1.));
  EXPECT_EQ(failure([&] {
              assert_positive(array({1., 0.}), {.message = "sigma"});
            }),
            "[assert_positive] sigma: [1] is 0.0, not above 0 (1 of 2 elements are not as required)");
  EXPECT_NE(failure([&] { assert_positive(array(std::nan(""))); }), "");
  EXPECT_NE(failure([&] { assert_non_negative(array(-1)); }), "");
  EXPECT_NE(failure([&] { assert_negative(array(0.)); }), "");
  EXPECT_EQ(failure([&] { assert_in(array(2.), 0., 1.); }),
            "[assert_in] the value is 2.0, not in [0.0, 1.0]");
}

// Where there are no values yet, the assertion is part of the program.
TEST(AssertValue, BecomePartOfCompiledPrograms) {
  auto f = jit([](const Array& x) {
    assert_positive(x, {.message = "x"});
    assert_tree_finite(x);
    return log(x);
  });
  EXPECT_EQ(f(array({1., 1.})).to_vector<double>()[1], 0.);
  EXPECT_EQ(failure([&] {
              f(array({1., -1.}));
            }),
            "[assert_positive] x: [1] is -1.0, not above 0 (1 of 2 elements are not as required)");
  EXPECT_EQ(failure([&] {
              f(array({1. / 0., 1.}));
            }),
            "[assert_tree_finite] [0] is inf, which is not finite (1 of 2 elements are not as required)");
  auto close = jit([](const Array& x, const Array& y) {
    assert_trees_close(std::pair{x, y}, std::pair{y, y}, {.rtol = 0.1});
    return x;
  });
  EXPECT_HOLDS(close(array({1., 2.}), array({1.05, 2.})));
  EXPECT_EQ(failure([&] {
              close(array({1., 2.}), array({1., 3.}));
            }),
            "[assert_trees_close] first[1] is 2.0, not 3.0 (1 of 2 elements are not as required, the largest "
            "difference is 1.0)");
  auto within = jit([](const Array& x, const Array& high) {
    assert_in(x, 0., high);
    return x;
  });
  EXPECT_EQ(failure([&] {
              within(array({{1., 2.}, {5., 3.}}), array(4.));
            }),
            "[assert_in] [1, 0] is 5.0, not in [0.0, 4.0] (1 of 4 elements are not as required)");
  // At once they say the same.
  EXPECT_EQ(failure([&] {
              assert_in(array({{1., 2.}, {5., 3.}}), 0., 4.);
            }),
            "[assert_in] [1, 0] is 5.0, not in [0.0, 4.0] (1 of 4 elements are not as required)");
  // In any lane, and under gradients.
  auto lanes = jit(vmap([](const Array& x) {
    assert_positive(x);
    return x;
  }));
  EXPECT_HOLDS(lanes(array({1., 2., 3.})));
  EXPECT_NE(failure([&] { lanes(array({1., 2., -3.})); }).find("is -3.0, not above 0"), std::string::npos);
  auto slope = grad([](const Array& x) {
    assert_positive(x);
    return x * x;
  });
  EXPECT_EQ(slope(array(2.)).item<double>(), 4.);
  EXPECT_EQ(failure([&] { slope(array(-2.)); }), "[assert_positive] the value is -2.0, not above 0");
}

TEST(AssertValue, SwitchedOff) {
  struct OnAgain {
    ~OnAgain() { enable_asserts(); }
  } on_again;
  disable_asserts();
  EXPECT_FALSE(asserts_enabled());
  assert_shape(zeros({3}), {4});
  assert_equal_shape({zeros({3}), zeros({4})});
  assert_trees_close(array(1.), array(2.));
  assert_positive(array(-1.));
  assert_trees_equal_structure(std::vector{array(1.)}, std::vector<Array>{});
  auto f = jit([](const Array& x) {
    assert_positive(x);
    return x;
  });
  f(array(-1.));
  enable_asserts();
  EXPECT_HOLDS(f(array(-1.))) << "the program was traced without";
  EXPECT_NE(failure([&] { assert_shape(zeros({3}), {4}); }), "");
}

TEST(AssertGradients, AgreeWithDifferences) {
  auto f = [](const Layer& l, const Array& x) {
    return std::pair{tanh(matmul(l.weight, x) + l.bias), sum(sin(x))};
  };
  Layer layer{array({{0.5, -0.25}, {1., 0.125}}), array({0.1, -0.3})};
  Array x = array({0.7, -1.2});
  EXPECT_HOLDS(assert_numerical_gradients(f, std::tuple{layer, x}, {.order = 2}));
  EXPECT_HOLDS(assert_numerical_gradients([](const Array& y) { return exp(sin(y)); }, std::tuple{array(0.3)},
                                          {.order = 3}));
  EXPECT_HOLDS(assert_numerical_gradients([](const Array& y, const Array& n) { return y * y * n; },
                                          std::tuple{Array(0.3f, f32), array(3)}));
}

TEST(AssertGradients, SeeAWrongDerivative) {
  // Differences see what stop_gradient hides.
  auto hidden = [](const Array& x) { return x + stop_gradient(x * x); };
  EXPECT_NE(failure([&] {
              assert_numerical_gradients(hidden, std::tuple{array(0.7)}, {.reverse = false});
            }).find("[assert_numerical_gradients] forward mode: the derivative along a random direction is "),
            std::string::npos);
  EXPECT_NE(failure([&] {
              assert_numerical_gradients(hidden, std::tuple{array(0.7)}, {.forward = false});
            }).find("reverse mode: "),
            std::string::npos);
  // Right in its value and first derivative alone.
  auto linear_slope = [](const Array& x) { return x * stop_gradient(x) * 2. - stop_gradient(x * x); };
  EXPECT_HOLDS(assert_numerical_gradients(linear_slope, std::tuple{array(0.7)}, {.order = 1}));
  EXPECT_NE(failure([&] { assert_numerical_gradients(linear_slope, std::tuple{array(0.7)}, {.order = 2}); }),
            "");
}

TEST(GoogleTestBridge, ReportsFailures) {
  EXPECT_FALSE(holds([] { assert_shape(zeros({3}), {4}); }));
  EXPECT_NE(std::string(holds([] { assert_shape(zeros({3}), {4}); }).message()).find("axis 0 is 3 long"),
            std::string::npos);
  int calls = 0;
  for_each_variant([](const Array& x) { return sin(x) * 2.; },
                   [&](const auto& g) {
                     EXPECT_HOLDS(assert_trees_close(
                         g(array({0.5, 1.})), array({2 * std::sin(0.5), 2 * std::sin(1.)}), {.rtol = 1e-15}));
                     ++calls;
                   });
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace apsis
