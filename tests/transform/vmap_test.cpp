#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Oscillator {
  Array stiffness, damping;
};
struct Spring {
  Array force, energy;
};

Spring pull(const Oscillator& o, const Array& x) {
  return {-o.stiffness * x - o.damping * sin(x), 0.5 * o.stiffness * sum(x * x)};
}

Array grid(std::int64_t rows, std::int64_t columns) {
  return sin(reshape(arange(static_cast<double>(rows * columns)), {rows, columns}) * 0.37 + 0.2);
}

TEST(Vmap, EqualsCallsOneByOne) {
  auto each = [](const auto& f, const Array& xs) {
    Array all = vmap(f)(xs), compiled = jit(vmap(f))(xs);
    for (std::int64_t i = 0; i < xs.dim(0); ++i) {
      SCOPED_TRACE(i);
      expect_same_bits(Array(all[i]), Array(f(xs[i])));
      expect_same_bits(Array(compiled[i]), Array(jit(f)(xs[i])));
    }
  };
  Array xs = grid(5, 7);
  each([](const Array& x) { return exp(x) * cos(x) / (1. + x * x); }, xs);
  each([](const Array& x) { return sum(x) * x - max(x); }, xs);
  each([](const Array& x) { return cumsum(x) + sort(x) * flip(x); }, xs);
  each([](const Array& x) { return concatenate({x[range(2, 5)], outer(x, x)[1]}); }, xs);
  each([](const Array& x) { return where(x > 0., log(abs(x)), x[argmax(x)]); }, xs);
  each([](const Array& x) { return x.at(0).add(dot(x, x)); }, xs);
  each(grad([](const Array& x) { return sum(tanh(x) * x) + prod(x); }), xs);
  each(jit([](const Array& x) { return tan(x) * x[3]; }), xs);
  // One weak scalar among the operands, and results that do not depend on the lane.
  expect_same_bits(vmap([](const Array&) {
                     return array({1., 2.});
                   })(xs[range(0, 2)]),
                   array({{1., 2.}, {1., 2.}}));
}

TEST(Vmap, AxesByNumberNoneAndTree) {
  Array xs = grid(3, 4);
  auto weighted = [](const Array& x, const Array& w, const Array& c) { return sum(x * w) + c; };
  Array w = array({1., 2., 3.}), cs = array({10., 20., 30., 40.});
  Array got = vmap(weighted, {.in_axes = {1, {}, 0}})(xs, w, cs);
  for (int i = 0; i < 4; ++i) expect_same_bits(Array(got[i]), weighted(xs(ellipsis, i), w, cs[i]));
  expect_same_bits(vmap(weighted, {.in_axes = {-1, {}, -1}})(xs, w, cs), got);

  Oscillator o{array({1., 2., 3.}), array(0.5)};
  Array at = grid(2, 3);
  Spring springs = vmap(pull, {.in_axes = {Oscillator{0, {}}, 1}})(o, at);
  for (int i = 0; i < 3; ++i) {
    Spring one = pull({o.stiffness[i], o.damping}, at(ellipsis, i));
    expect_same_bits(Array(springs.force[i]), one.force);
    expect_same_bits(Array(springs.energy[i]), one.energy);
  }
}

TEST(Vmap, OutAxes) {
  Array xs = grid(3, 2);
  Array stacked = vmap([](const Array& x) { return x * 2.; }, {.out_axes = 1})(xs);
  expect_same_bits(stacked, transpose(xs * 2.));
  expect_same_bits(vmap([](const Array& x) { return x * 2.; }, {.out_axes = -1})(xs), stacked);
  auto two = [](const Array& x) { return Spring{x, sum(x)}; };
  Spring mixed = vmap(two, {.out_axes = Spring{1, 0}})(xs);
  expect_same_bits(mixed.force, transpose(xs));
  EXPECT_EQ(mixed.energy.dim(0), 3);
  Array shared = vmap([](const Array&) { return array(4.); }, {.out_axes = {}})(xs);
  expect_same_bits(shared, array(4.));
}

TEST(Vmap, AxisSizeAlone) {
  Array x = array({1., 2.});
  Array got = vmap([](const Array& v) { return v + 1.; }, {.in_axes = {{}}, .axis_size = 3})(x);
  expect_same_bits(got, array({{2., 3.}, {2., 3.}, {2., 3.}}));
}

TEST(Vmap, OfNoLanes) {
  Array none = zeros({0, 3});
  Array got = vmap([](const Array& x) { return sum(exp(x)); })(none);
  EXPECT_EQ(to_string(got.shape()), to_string(Shape{0}));
  EXPECT_EQ(jit(vmap([](const Array& x) { return sum(exp(x)); }))(none).size(), 0);
}

TEST(Vmap, Nested) {
  Array a = grid(3, 4), b = grid(5, 4);
  auto row = [](const Array& x, const Array& y) { return sum(x * y) + x[0]; };
  auto table = vmap(vmap(row, {.in_axes = {{}, 0}}), {.in_axes = {0, {}}});
  Array got = table(a, b), compiled = jit(table)(a, b);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j) {
      expect_same_bits(Array(got(i, j)), row(a[i], b[j]));
      expect_same_bits(Array(compiled(i, j)), jit(row)(a[i], b[j]));
    }
}

TEST(Vmap, OfGradAndGradOfVmap) {
  auto loss = [](const Array& x) { return sum(sin(x) * x[0]); };
  Array xs = grid(4, 3);
  Array rows = vmap(grad(loss))(xs);
  for (int i = 0; i < 4; ++i) expect_same_bits(Array(rows[i]), grad(loss)(xs[i]));
  auto total = [&](const Array& m) { return sum(vmap(loss)(m)); };
  expect_near(grad(total)(xs), rows);
  expect_near(jit(grad(total))(xs), rows);
  // What the lanes share gathers the cotangents of all.
  auto shared = [&](const Array& w) { return sum(vmap([&](const Array& x) { return sum(w * x * x); })(xs)); };
  expect_near(grad(shared)(array({1., 1., 1.})), sum(xs * xs, {.axis = 0}));
}

TEST(Vmap, WhatNoLaneReachesRunsOnce) {
  // Captures and unmapped operands keep their rank inside the lane program.
  Array w = grid(3, 3);
  std::string graph =
      make_graph(vmap([&](const Array& x, const Array& m) { return x + sum(exp(m)); }, {.in_axes = {0, {}}}),
                 grid(5, 3), w);
  EXPECT_NE(graph.find("f64[3,3] = exp("), std::string::npos) << graph;
  EXPECT_EQ(graph.find("f64[5,3,3]"), std::string::npos) << graph;
}

TEST(Vmap, OfAFunctionObjectSharesItsLeaves) {
  struct Scale {
    Array factor;
    Array operator()(const Array& x) const { return factor * x; }
  };
  Scale twice{array({2., 3.})};
  expect_same_bits(vmap(twice)(array({{1., 1.}, {2., 2.}})), array({{2., 3.}, {4., 6.}}));
}

}  // namespace
}  // namespace apsis::testing
