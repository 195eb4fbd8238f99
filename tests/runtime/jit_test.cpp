#include <algorithm>
#include <optional>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Layer {
  Array weight, bias;
};
enum class Activation { Tanh, Sine };
struct Model {
  std::vector<Layer> layers;
  Activation activation = Activation::Tanh;
  std::optional<Array> scale;
};

Array apply(const Model& m, const Array& x) {
  Array y = x;
  for (const Layer& l : m.layers) {
    Array z = l.weight * y + l.bias;
    y = m.activation == Activation::Tanh ? tanh(z) : sin(z);
  }
  return m.scale ? *m.scale * y : y;
}
Model two_layers() { return {{{array(0.5), array({0.1, 0.2})}, {array(2.), array(-1.)}}}; }

TEST(Jit, TracesOncePerSignature) {
  auto f = jit([](const Array& x) { return x * x + 1.; });
  for (double v : {1., 2., 3.}) EXPECT_EQ(f(array(v)).item<double>(), v * v + 1);
  EXPECT_EQ(f.trace_count(), 1);
  f(array({1., 2.}));                    // another shape
  f(Array(1., f32));                     // another dtype
  EXPECT_EQ(f(4.).item<double>(), 17.);  // weak
  EXPECT_EQ(f.trace_count(), 4);
  f(array({5., 6.}));
  f(5.);
  EXPECT_EQ(f.trace_count(), 4);
  auto copy = f;
  copy(array({7., 8.}));
  EXPECT_EQ(f.trace_count(), 4);
}

TEST(Jit, StructsAndStaticParts) {
  auto f = jit(apply);
  Model m = two_layers();
  Array x = array({0.3, 0.4});
  expect_near(f(m, x), apply(m, x), 1e-15);
  m.layers[0].weight = array(0.75);
  expect_near(f(m, x), apply(m, x), 1e-15);
  EXPECT_EQ(f.trace_count(), 1);
  m.activation = Activation::Sine;
  expect_near(f(m, x), apply(m, x), 1e-15);
  EXPECT_EQ(f.trace_count(), 2);
  m.scale = array(2.);
  expect_near(f(m, x), apply(m, x), 1e-15);
  EXPECT_EQ(f.trace_count(), 3);
  m.layers.pop_back();
  expect_near(f(m, x), apply(m, x), 1e-15);
  EXPECT_EQ(f.trace_count(), 4);
  f(two_layers(), x);
  EXPECT_EQ(f.trace_count(), 4);
}

TEST(Jit, StaticNumbersAreBakedIn) {
  auto f = jit([](const Array& x, int n) {
    Array y = x;
    for (int i = 1; i < n; ++i) y = y * x;
    return y;
  });
  EXPECT_EQ(f(array(2.), 3).item<double>(), 8.);
  EXPECT_EQ(f(array(3.), 3).item<double>(), 27.);
  EXPECT_EQ(f.trace_count(), 1);
  EXPECT_EQ(f(array(2.), 4).item<double>(), 16.);
  EXPECT_EQ(f.trace_count(), 2);
}

TEST(Jit, ManyLeavesAndManyResults) {
  std::vector<Array> leaves;
  for (int i = 0; i < 100; ++i) leaves.push_back(array({i * 1., i * 2.}));
  auto f = jit([](const std::vector<Array>& v) {
    std::vector<Array> out = v;
    for (std::size_t i = 0; i < v.size(); ++i) out[i] = v[i] + v[v.size() - 1 - i];
    return out;
  });
  for (int round = 0; round < 2; ++round) {
    std::vector<Array> out = f(leaves);
    ASSERT_EQ(out.size(), 100u);
    for (const Array& a : out) expect_same_bits(a, array({99., 198.}));
  }
  EXPECT_EQ(f.trace_count(), 1);
}

// Pointers to the elements of up to 128 inputs, captures among them, and outputs are kept on the stack.
TEST(Jit, LeavesAroundTheMostThatTheStackHolds) {
  const Array captured = array({0.5});
  for (const std::size_t count : {127u, 128u, 129u, 300u}) {
    SCOPED_TRACE(count);
    std::vector<Array> leaves(2 * count);  // every other one stays empty
    for (std::size_t i = 0; i < count; ++i) leaves[2 * i] = array({static_cast<double>(i)});
    auto f = jit([captured](const std::vector<Array>& v) {
      std::vector<Array> out;
      for (const Array& a : v)
        if (!a.is_empty()) out.push_back(a + captured);
      return out;
    });
    for (int round = 0; round < 4; ++round) {
      if (round == 2) std::ranges::rotate(leaves, leaves.end() - 1);  // as many, but others are empty
      const std::vector<Array> out = f(leaves);
      ASSERT_EQ(out.size(), count);
      for (std::size_t i = 0; i < count; ++i) expect_same_bits(out[i], array({static_cast<double>(i) + 0.5}));
    }
    EXPECT_EQ(f.trace_count(), 2);
  }
}

TEST(Jit, ArraysOfNoElements) {
  auto f = jit([](const Array& x) { return std::tuple{x * 2., sum(x), concatenate({x, array({1.})})}; });
  auto [twice, total, one] = f(zeros({0}));
  EXPECT_EQ(twice.size(), 0);
  EXPECT_EQ(total.item<double>(), 0.);
  expect_same_bits(one, array({1.}));
}

TEST(Jit, ResultsOfAnyStructure) {
  struct Result {
    Array value;
    int rounds;
    std::optional<Array> nothing;
    std::vector<Array> parts;
  };
  auto f = jit([](const Array& x) { return Result{x + 1., 3, std::nullopt, {x, Array(), array(5)}}; });
  for (int round = 0; round < 2; ++round) {
    Result r = f(array({1., 2.}));
    expect_same_bits(r.value, array({2., 3.}));
    EXPECT_EQ(r.rounds, 3);
    EXPECT_FALSE(r.nothing.has_value());
    expect_same_bits(r.parts[0], array({1., 2.}));
    EXPECT_TRUE(r.parts[1].is_empty());
    EXPECT_EQ(r.parts[2].item<int>(), 5);
  }
  auto [same, again] = jit([](const Array& x) { return std::pair{x, x}; })(array(4.));
  EXPECT_EQ(same.item<double>() + again.item<double>(), 8.);
  EXPECT_TRUE(jit([](const Array&) { return Array(); })(array(1.)).is_empty());
}

TEST(Jit, ArgumentsWithoutArrays) {
  int runs = 0;
  auto f = jit([&runs](int n) {
    ++runs;
    return arange(n * 1.);
  });
  EXPECT_EQ(f(3).size(), 3);
  EXPECT_EQ(f(3).size(), 3);
  EXPECT_EQ(f(4).size(), 4);
  EXPECT_EQ(runs, 2);
}

TEST(Jit, KeepsWhatWasCaptured) {
  Array big = arange(1000.), scalar = array(3.);
  auto f = jit([&](const Array& x) { return sum(big) * x + scalar; });
  EXPECT_EQ(f(array(1.)).item<double>(), 499503.);
  big = zeros({2});
  EXPECT_EQ(f(array(1.)).item<double>(), 499503.);
  struct Affine {
    Array a, b;
    Array operator()(const Array& x) const { return a * x + b; }
  };
  auto g = jit(Affine{array(2.), array(1.)});
  EXPECT_EQ(g(array(3.)).item<double>(), 7.);
}

TEST(Jit, AnExceptionLeavesItUsable) {
  bool refuse = true;
  auto f = jit([&refuse](const Array& x) {
    if (refuse) throw std::runtime_error("not now");
    return x + 1.;
  });
  EXPECT_THROW(f(array(1.)), std::runtime_error);
  EXPECT_THROW(f(array(1.)), std::runtime_error);
  refuse = false;
  EXPECT_EQ(f(array(1.)).item<double>(), 2.);
  // An error of the library, and one of the compiled program's own.
  auto g = jit([](const Array& x) {
    error_if(any(x < 0.), Message{"own", "negative"});
    return sqrt(x) + array({1., 2.});
  });
  EXPECT_THROW(g(array({1., 2., 3.})), Error);
  EXPECT_THROW(g(array({1., -2.})), Error);
  expect_same_bits(g(array({4., 9.})), array({3., 5.}));
}

TEST(Jit, ThrowsWhereAValueIsAskedFor) {
  auto f = jit([](const Array& x) { return x > 0. ? x : -x; });
  EXPECT_THROW(f(array(1.)), Error);
  EXPECT_THROW(jit([](const Array& x) { return Array(x.item<double>()); })(array(1.)), Error);
}

// Calls itself while it is being traced: the inner call has another static number, then the same signature.
struct Factorial;
Jitted<Factorial>& factorial();
struct Factorial {
  Array operator()(const Array& x, int n) const {
    if (n <= 1) return x;
    return factorial()(x, n - 1) * n;
  }
};
Jitted<Factorial>& factorial() {
  static Jitted<Factorial> f = jit(Factorial{});
  return f;
}

TEST(Jit, MayCallItself) {
  EXPECT_EQ(factorial()(array(1.), 5).item<double>(), 120.);
  EXPECT_EQ(factorial()(array(2.), 5).item<double>(), 240.);
}

struct Recursive;
Jitted<Recursive>& recursive();
int depth = 0;
struct Recursive {
  Array operator()(const Array& x) const {
    if (++depth == 4) return x;
    return recursive()(x * 2.) + 1.;
  }
};
Jitted<Recursive>& recursive() {
  static Jitted<Recursive> f = jit(Recursive{});
  return f;
}

TEST(Jit, MayCallItselfWithTheSameSignature) {
  EXPECT_EQ(recursive()(array(1.)).item<double>(), 11.);
  EXPECT_EQ(recursive()(array(2.)).item<double>(), 19.);
}

TEST(Jit, InsideJit) {
  auto inner = jit([](const Array& x) { return sin(x) * x; });
  auto outer = jit([=](const Array& x) { return inner(x) + inner(2. * x); });
  Array x = array({0.5, 1.5});
  expect_near(outer(x), sin(x) * x + sin(2. * x) * 2. * x, 1e-15);
  expect_compiled_as_interpreted(outer, x);
  EXPECT_EQ(outer.trace_count(), 1);  // the evaluator runs the same program
}

}  // namespace
}  // namespace apsis::testing
