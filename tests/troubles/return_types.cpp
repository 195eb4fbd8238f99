// Trouble 3: types of results.
//
// In JAX what comes back is another thing than what was returned: a Python float leaves jit as an array, a
// tuple of (loss, 3) as two arrays, `has_aux` must be said and gives a tuple of tuples when said twice;
// Equinox's filter_grad put None for what is not differentiable, filter_value_and_grad of a jitted function
// gave a numpy scalar where the loss had been an array. Type checkers are told "Any". Here the types are the
// compiler's business, and the values are held to them.

#include "troubles/wrappers.hpp"

namespace apsis::testing {
namespace {

enum class Mode { Plain, Scaled };
struct Inner {
  Array weight;
  Mode mode = Mode::Scaled;
};
struct Model {
  std::vector<Inner> layers;
  Array steps;  // integers
  Array bias;
  int power = 2;
  Static<double> scale = 0.5;
  std::optional<Array> mask;
  std::string name = "model";
  std::pair<Array, int> extra;
};

struct Aux {
  Array prediction, count;
  int rounds;
  std::optional<Array> nothing;
  std::string note;
};

Model make_model() {
  return {.layers = {{array({1., 2.})}, {array({3., 4.}), Mode::Plain}},
          .steps = array({1, 2, 3}),
          .bias = array(0.5f),
          .mask = array({1., 0.}),
          .extra = {array(true), 7}};
}
Array loss(const Model& m, const Array& x) {
  Array h = x;
  for (const Inner& l : m.layers) h = l.mode == Mode::Scaled ? l.weight * h * m.scale : l.weight * h;
  return sum(h * *m.mask) + astype(m.bias, f64);
}
std::pair<Array, Aux> loss_with_aux(const Model& m, const Array& x) {
  return {loss(m, x), {x * 2., array({1, 2}), 3, std::nullopt, "note"}};
}

const Array x = array({5., 6.});

void expect_scalar(const Array& value) {
  EXPECT_EQ(value.ndim(), 0);
  EXPECT_EQ(value.dtype(), f64);
  EXPECT_FALSE(value.weak());
  EXPECT_EQ(value.item<double>(), 1. * 5. * 0.5 * 3. + 0.5);
}

/// The structure of the model, a derivative where it is floating, empty elsewhere.
void expect_gradient(const Model& g) {
  Model m = make_model();
  ASSERT_EQ(g.layers.size(), 2u);
  EXPECT_EQ(g.layers[0].mode, Mode::Scaled);
  EXPECT_EQ(g.layers[1].mode, Mode::Plain);
  EXPECT_EQ(g.power, 2);
  EXPECT_EQ(g.scale, Static<double>(0.5));
  EXPECT_EQ(g.name, "model");
  EXPECT_EQ(g.extra.second, 7);
  ASSERT_TRUE(g.mask.has_value());
  EXPECT_TRUE(g.steps.is_empty());
  EXPECT_TRUE(g.extra.first.is_empty());
  EXPECT_TRUE(tree_structure_equal(g, m));
  expect_same_bits(g.layers[0].weight, array({7.5, 0.}));
  expect_same_bits(g.layers[1].weight, array({2.5, 0.}));
  expect_same_bits(g.bias, array(1.f));  // keeps its dtype
  expect_same_bits(*g.mask, array({7.5, 24.}));
}

void expect_aux(const Aux& aux) {
  expect_same_bits(aux.prediction, array({10., 12.}));
  expect_same_bits(aux.count, array({1, 2}));
  EXPECT_EQ(aux.rounds, 3);
  EXPECT_FALSE(aux.nothing.has_value());
  EXPECT_EQ(aux.note, "note");
}

/// One more layer of nesting that must not show.
const auto same = [](const auto& f) { return f; };
const auto jitted = [](const auto& f) { return jit(f); };
const auto twice = [](const auto& f) { return jit(jit(f)); };
const auto in_line = [](const auto& f) { return jit(jit(f), {.inline_calls = true}); };
const auto decorated = [](const auto& f) {
  return wraps([](const auto& g) { return [g](const Model& m, const Array& v) { return g(m, v); }; }, jit(f));
};
const auto counted = [](const auto& f) { return assert_max_traces(f, 1); };

template <class Inside, class Outside>
void expect_types(const Inside& inside, const Outside& outside) {
  Model m = make_model();
  auto f = outside(inside(&loss));
  static_assert(std::is_same_v<decltype(f(m, x)), Array>);
  expect_scalar(f(m, x));

  auto g = outside(grad(inside(&loss)));
  static_assert(std::is_same_v<decltype(g(m, x)), Model>);
  expect_gradient(g(m, x));

  auto both = outside(grad<0, 1>(inside(&loss)));
  static_assert(std::is_same_v<decltype(both(m, x)), std::tuple<Model, Array>>);
  expect_gradient(std::get<0>(both(m, x)));
  expect_same_bits(std::get<1>(both(m, x)), array({1.5, 0.}));

  auto v = outside(value_and_grad(inside(&loss)));
  static_assert(std::is_same_v<decltype(v(m, x)), std::pair<Array, Model>>);
  auto [value, gradient] = v(m, x);
  expect_scalar(value);
  expect_gradient(gradient);

  auto a = outside(inside(&loss_with_aux));
  static_assert(std::is_same_v<decltype(a(m, x)), std::pair<Array, Aux>>);
  expect_scalar(a(m, x).first);
  expect_aux(a(m, x).second);

  auto ga = outside(grad(inside(&loss_with_aux)));
  static_assert(std::is_same_v<decltype(ga(m, x)), std::pair<Model, Aux>>);
  expect_gradient(ga(m, x).first);
  expect_aux(ga(m, x).second);

  auto va = outside(value_and_grad(inside(&loss_with_aux)));
  static_assert(std::is_same_v<decltype(va(m, x)), std::tuple<Array, Aux, Model>>);
  auto [aux_value, aux, aux_gradient] = va(m, x);
  expect_scalar(aux_value);
  expect_aux(aux);
  expect_gradient(aux_gradient);
}

TEST(ReturnTypes, AreKeptInEveryNesting) {
  expect_types(same, same);
  expect_types(same, jitted);
  expect_types(jitted, jitted);
  expect_types(twice, in_line);
  expect_types(decorated, counted);
}

TEST(ReturnTypes, HigherDerivativesOfAStructAreTheStruct) {
  auto slope = [](const Model& m) { return sum(grad(&loss)(m, x).layers[0].weight * x); };
  Model m = make_model();
  auto second = jit(grad(slope))(m);
  static_assert(std::is_same_v<decltype(second), Model>);
  EXPECT_TRUE(tree_structure_equal(second, m));
  EXPECT_TRUE(second.steps.is_empty());
  expect_same_bits(second.layers[0].weight, array({0., 0.}));
  expect_same_bits(second.layers[1].weight, array({12.5, 0.}));
  auto h = jit(hessian([](const Array& v) { return sum(v * v * v); }))(x);
  static_assert(std::is_same_v<decltype(h), Array>);
  expect_same_bits(h, array({{30., 0.}, {0., 36.}}));
}

TEST(ReturnTypes, WeakAndStrongNumbersAreKept) {
  auto f = [](const Array& v) { return std::tuple{v * 2., Array(1), array(1), Array(0.5), v > 1., 3, true}; };
  auto expect = [&](const auto& results) {
    static_assert(std::is_same_v<std::decay_t<decltype(results)>,
                                 std::tuple<Array, Array, Array, Array, Array, int, bool>>);
    auto want = f(array(1.f));
    EXPECT_EQ(std::get<5>(results), 3);
    EXPECT_TRUE(std::get<6>(results));
    expect_same_bits(results, want);  // dtypes and weakness too
  };
  expect(f(array(1.f)));
  expect(jit(f)(array(1.f)));
  expect(jit(jit(f), {.inline_calls = true})(array(1.f)));
  expect(compile(jit(f), array(1.f))(array(1.f)));
}

}  // namespace
}  // namespace apsis::testing
