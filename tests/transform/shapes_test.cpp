// eval_shape, abstract arrays, named scopes, optimization_barrier, stop_gradient, Partial.

#include <gtest/gtest.h>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Layer {
  Array weight, bias;
  int power = 1;
};
struct Result {
  Array y, none;
  int power = 0;
};

Result apply(const Layer& layer, const Array& x) {
  return {pow(dot(layer.weight, x) + layer.bias, layer.power), {}, layer.power};
}

TEST(EvalShape, TellsTheStructureOfTheResult) {
  Layer layer{abstract_array({4, 3}, Dtype::F32), abstract_array({4}, Dtype::F32), 2};
  Result r = eval_shape(&apply, layer, abstract_array({3}, Dtype::F32));
  EXPECT_EQ(r.y.shape(), Shape{4});
  EXPECT_EQ(r.y.dtype(), Dtype::F32);
  EXPECT_FALSE(r.y.weak());
  EXPECT_TRUE(r.none.is_empty());
  EXPECT_EQ(r.power, 2);
  EXPECT_FALSE(is_concrete(r.y));
  EXPECT_EQ(to_string(r.y), "f32[4]");
}

TEST(EvalShape, ComputesNothingAndTakesArrays) {
  int runs = 0;
  Array r = eval_shape(
      [&runs](const Array& x) {
        ++runs;
        error_if(sum(x) > 0., {"never", "must not run"});
        return stack({x, x});
      },
      array({1., 2.}));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(r.shape(), (Shape{2, 2}));
  EXPECT_TRUE(eval_shape([](const Array& x) { return x * 2.; }, 1.).weak());
  // Under another transformation too, with its values captured.
  Array slope = grad([](const Array& x) {
    Array shape = eval_shape([&x](const Array& y) { return y * x; }, abstract_array({5}, Dtype::F64));
    return x * static_cast<double>(shape.size());
  })(array(2.));
  EXPECT_EQ(slope.item<double>(), 5.);
}

TEST(AbstractArray, CompilesAheadOfData) {
  auto f = [](const Array& x) { return sum(sin(x)); };
  auto ready = lower(f, abstract_array({3}, Dtype::F64)).compile();
  Array x = array({1., 2., 3.});
  expect_same_bits(ready(x), jit(f)(x));
  EXPECT_EQ(make_graph(f, abstract_array({3}, Dtype::F64)), make_graph(f, x));
}

TEST(AbstractArray, HasNoValue) {
  Array a = abstract_array({2}, Dtype::F64);
  EXPECT_THROW(a + 1., Error);
  EXPECT_THROW(a.to_vector<double>(), Error);
  EXPECT_THROW(jit([](const Array& x) { return x + 1.; })(a), Error);
  EXPECT_THROW(grad([](const Array& x) { return sum(x); })(a), Error);
}

TEST(NamedScope, IsShownInProgramsAndErrors) {
  auto f = [](const Array& x) {
    auto outer = named_scope("encoder");
    Array y = sin(x);
    {
      auto inner = named_scope("head");
      y = y * x;
    }
    return exp(y);
  };
  Array x = array({1., 2.});
  EXPECT_EQ(make_graph(f, x), R"((v0: f64[2]) {
  v1: f64[2] = sin(v0)  # in encoder
  v2: f64[2] = mul(v1, v0)  # in encoder/head
  v3: f64[2] = exp(v2)  # in encoder
  return v3
})");
  // Derivatives and inlined programs keep the names.
  EXPECT_NE(make_graph(grad([&](const Array& v) { return sum(f(v)); }), x).find("cos(v0)  # in encoder\n"),
            std::string::npos);
  try {
    auto scope = named_scope("decoder");
    reshape(x, {3});
    FAIL();
  } catch (const Error& e) {
    EXPECT_TRUE(std::string(e.what()).ends_with("\n  in scope decoder")) << e.what();
  }
  // Names are no part of the program: one compilation serves both.
  EXPECT_TRUE(
      closure_convert(f, x).same_program(closure_convert([](const Array& v) { return exp(sin(v) * v); }, x)));
}

TEST(OptimizationBarrier, KeepsEqualComputationsApart) {
  auto merged = [](const Array& x) { return sin(x) + sin(x); };
  auto fenced = [](const Array& x) { return sin(x) + sin(optimization_barrier(x)); };
  Array x = array({1., 2.});
  auto count = [](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = text.find("= sin("); at != std::string::npos; at = text.find("= sin(", at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count(make_graph(merged, x)), 1u);
  EXPECT_EQ(count(make_graph(fenced, x)), 2u);
  expect_same_bits(jit(fenced)(x), merged(x));
  auto loss = [](const Array& v) {
    auto [a, b] = optimization_barrier(std::pair{sin(v), v * v});
    return sum(a * b);
  };
  expect_derivatives(loss, cos(arange(5.)));
  expect_derivatives(loss, cos(arange(50.)));  // too large for registers
  Array rows = reshape(arange(6.), {2, 3});
  expect_near(vmap(loss)(rows), stack({loss(rows[0]), loss(rows[1])}));
}

TEST(StopGradient, IsTheIdentityWithoutADerivative) {
  auto f = [](const Array& x) { return sum(x * stop_gradient(x)); };
  Array x = array({1., 2.});
  expect_near(grad(f)(x), x);
  expect_near(jit(grad(f))(x), x);
  expect_near(grad(grad(f))(array(3.)), array(0.));
  expect_near(vmap(f)(reshape(arange(6.), {2, 3})), array({5., 50.}));
}

TEST(Partial, IsATree) {
  Partial p{[](const Array& a, const Array& b, const Array& x) { return a * x + b; }, array(2.), 3.};
  expect_near(p(array({1., 2.})), array({5., 7.}));
  expect_near(jit(p)(4), array(11.));  // a number at an Array parameter is dynamic
  EXPECT_EQ(leaf_count(p), 2u);
  EXPECT_EQ(tree_paths(p, "p"), (std::vector<std::string>{"p.arguments[0]", "p.arguments[1]"}));
  auto slope = grad([](const auto& f, const Array& x) { return sum(f(x)); })(p, array({1., 2.}));
  static_assert(std::is_same_v<decltype(slope), decltype(p)>);
  expect_near(std::get<0>(slope.arguments), array(3.));
  expect_near(std::get<1>(slope.arguments), array(2.));
}

}  // namespace
}  // namespace apsis::testing
