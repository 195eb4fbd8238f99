// Named axes under vmap. The values of the first tests are JAX's, computed by the same program (jax 0.10.2,
// x64).

#include <gtest/gtest.h>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

template <class F>
auto over_i(F f) {
  return vmap(f, {.axis_name = "i"});
}

const Array x3 = array({0., 1., 2.});

void expect_values(const Array& got, const std::vector<double>& want) {
  EXPECT_EQ(got.to_vector<double>(), want);
}

/// f mapped over "i": eager, compiled, and with the jit inside.
template <class F>
Array everywhere(const F& f, const Array& x) {
  Array eager = over_i(f)(x);
  expect_same_bits(jit(over_i(f))(x), eager);
  expect_same_bits(over_i(jit(f))(x), eager);
  return eager;
}

TEST(Collectives, ReduceOverTheLanes) {
  expect_values(everywhere([](const Array& x) { return psum(x * x, "i"); }, x3), {5, 5, 5});
  expect_values(everywhere([](const Array& x) { return pmean(x * x, "i"); }, array({0., 1., 5.})),
                {26. / 3, 26. / 3, 26. / 3});
  expect_values(everywhere([](const Array& x) { return pmax(x, "i") - pmin(x, "i"); }, array({4., 1., 5.})),
                {4, 4, 4});
  Array mean = over_i([](const Array& x) { return pmean(x, "i"); })(array({0, 1, 2, 3}));
  EXPECT_EQ(mean.dtype(), Dtype::F64);
  expect_values(mean, {1.5, 1.5, 1.5, 1.5});
  Array count = over_i([](const Array& x) { return psum(x, "i"); })(array({true, false, true}));
  EXPECT_EQ(count.dtype(), Dtype::I32);
  expect_values(count, {2, 2, 2});
}

TEST(Collectives, OfWhatIsTheSameInAllLanes) {
  expect_values(everywhere([](const Array& x) { return 0. * x + psum(array(2.), "i"); }, x3), {6, 6, 6});
  expect_values(everywhere([](const Array& x) { return 0. * x + pmax(array(2.), "i"); }, x3), {2, 2, 2});
  expect_values(everywhere([](const Array& x) { return 0. * x + sum(all_gather(array(5.), "i")); }, x3),
                {15, 15, 15});
  expect_values(everywhere(
                    [](const Array& x) {
                      return ppermute(array(5.), "i", {{0, 1}, {1, 0}}) + 0. * x;
                    },
                    x3),
                {5, 5, 0});
  // Not mapped any more: it may leave by an axis that is not mapped.
  auto total = vmap([](const Array& x) { return psum(x, "i"); }, {.out_axes = {}, .axis_name = "i"});
  EXPECT_EQ(total(x3).ndim(), 0);
}

TEST(Collectives, NumberTheLanes) {
  Array index = over_i([](const Array&) { return axis_index("i"); })(x3);
  EXPECT_EQ(index.dtype(), Dtype::I32);
  expect_values(index, {0, 1, 2});
  expect_values(everywhere([](const Array& x) { return x + axis_size("i"); }, x3), {3, 4, 5});
  auto both = vmap(vmap(
                       [](const Array&) {
                         return axis_index({"i", "j"});
                       },
                       {.axis_name = "j"}),
                   {.axis_name = "i"});
  expect_values(both(zeros({2, 3})), {0, 1, 2, 3, 4, 5});
}

TEST(Collectives, MoveBetweenLanes) {
  Array a = reshape(arange(18.), {3, 3, 2});
  Array moved = everywhere([](const Array& x) { return all_to_all(x, "i", 0, 1); }, a);
  EXPECT_EQ(to_string(moved.shape()), "[3, 2, 3]");
  expect_values(everywhere([](const Array& x) { return all_to_all(x, "i", 0, 0); }, a),
                {0, 1, 6, 7, 12, 13, 2, 3, 8, 9, 14, 15, 4, 5, 10, 11, 16, 17});
  Array b = reshape(arange(36.), {3, 6, 2});
  expect_values(everywhere([](const Array& x) { return all_to_all(x, "i", 0, 1, true); }, b),
                {0, 1, 12, 13, 24, 25, 2, 3, 14, 15, 26, 27, 4,  5,  16, 17, 28, 29,
                 6, 7, 18, 19, 30, 31, 8, 9, 20, 21, 32, 33, 10, 11, 22, 23, 34, 35});
  expect_values(everywhere([](const Array& x) { return psum_scatter(x, "i"); }, a), {18, 21, 24, 27, 30, 33});
  EXPECT_EQ(
      to_string(everywhere([](const Array& x) { return psum_scatter(x, "i", {.tiled = true}); }, b).shape()),
      "[3, 2, 2]");
  expect_values(everywhere(
                    [](const Array& x) {
                      return ppermute(x, "i", {{0, 1}, {1, 2}, {2, 0}});
                    },
                    x3),
                {2, 0, 1});
  expect_values(everywhere([](const Array& x) { return pshuffle(x, "i", {2, 1, 0}); }, x3), {2, 1, 0});
  expect_same_bits(everywhere([](const Array& x) { return pswapaxes(x, "i", 0); }, a),
                   transpose(a, {1, 0, 2}));
}

TEST(Collectives, GatherAlongAnyAxis) {
  Array a = reshape(arange(6.), {3, 2});
  Array front = everywhere([](const Array& x) { return all_gather(x, "i"); }, a);
  Array back = everywhere([](const Array& x) { return all_gather(x, "i", {.axis = -1}); }, a);
  Array tiled = everywhere([](const Array& x) { return all_gather(x, "i", {.tiled = true}); }, a);
  for (int lane = 0; lane < 3; ++lane) {
    expect_same_bits(front[lane], a);
    expect_same_bits(back[lane], transpose(a));
    expect_same_bits(tiled[lane], reshape(a, {6}));
  }
  auto both = vmap(vmap(
                       [](const Array& x) {
                         return all_gather(x, {"i", "j"});
                       },
                       {.axis_name = "j"}),
                   {.axis_name = "i"});
  expect_values(both(reshape(arange(6.), {2, 3}))[1][2], {0, 1, 2, 3, 4, 5});
}

TEST(Collectives, OfTrees) {
  auto f = [](const std::pair<Array, Array>& p) { return psum(p, "i"); };
  auto [a, b] = over_i(f)(std::pair{x3, x3 * 2.});
  expect_values(a, {3, 3, 3});
  expect_values(b, {6, 6, 6});
}

TEST(Collectives, OverSeveralAxesAndPastOthers) {
  Array x = reshape(arange(6.), {2, 3});
  auto nest = [](auto f) { return vmap(vmap(f, {.axis_name = "j"}), {.axis_name = "i"}); };
  expect_values(nest([](const Array& v) { return psum(v, {"i", "j"}); })(x), {15, 15, 15, 15, 15, 15});
  expect_values(nest([](const Array& v) { return psum(v, "j"); })(x), {3, 3, 3, 12, 12, 12});
  expect_values(nest([](const Array& v) { return psum(v, "i"); })(x), {3, 5, 7, 3, 5, 7});
  expect_values(nest([](const Array& v) { return all_gather(v, "i")[1]; })(x), {3, 4, 5, 3, 4, 5});
  expect_values(nest([](const Array& v) { return ppermute(v, "i", {{0, 1}}); })(x), {0, 0, 0, 0, 1, 2});
  expect_values(nest([](const Array& v) {
                  return psum_scatter(stack({v, -v}), "i");
                })(x),
                {3, 5, 7, -3, -5, -7});
}

TEST(Collectives, Derivatives) {
  // Inside, each lane's cotangent reaches all lanes: psum transposes to psum.
  expect_values(everywhere(grad([](const Array& x) { return psum(x * x, "i"); }), x3), {0, 6, 12});
  expect_values(everywhere(grad([](const Array& x) { return pmean(x * x, "i"); }), x3), {0, 2, 4});
  auto gathered = [](const Array& x) {
    Array g = all_gather(x, "i");
    return sum(g * g * array({1., 2., 3.}));
  };
  expect_values(everywhere(grad(gathered), x3), {0, 12, 36});
  expect_values(everywhere([&](const Array& x) { return jvp(gathered, x, array(1.)).second; }, x3),
                {16, 16, 16});
  // Around, against differences, in every mode.
  auto round = [](auto f) {
    return [f](const Array& x) { return sum(over_i(f)(x) * array({1., -2., 3.})); };
  };
  Array at = array({0.3, -1.2, 0.8});
  expect_derivatives(round([](const Array& x) { return x * psum(sin(x), "i"); }), at);
  expect_derivatives(round([](const Array& x) {
                       return sum(all_gather(x * x, "i") * array({3., 1., 2.})) * x;
                     }),
                     at);
  expect_derivatives(round([](const Array& x) { return ppermute(exp(x), "i", {{0, 2}, {2, 1}}) * x; }), at);
  expect_derivatives(
      round([](const Array& x) {
        return all_to_all(stack({x, x * x, sin(x)}), "i", 0, 0)[1] * psum_scatter(stack({x, x, cos(x)}), "i");
      }),
      at);
  expect_derivatives(round([](const Array& x) { return pmax(x * x, "i") * pmin(x, "i") + x; }), at);
}

TEST(Collectives, InLoopsLanesKeepStepWhereTheyWorkTogether) {
  struct State {
    Array total, i;
  };
  auto f = [](const Array& limit) {
    return while_loop([&](const State& s) { return s.i < limit; },
                      [](const State& s) {
                        return State{s.total + psum(s.i, "i"), s.i + 1.};
                      },
                      State{0., 0.});
  };
  State end = over_i(f)(array({1., 3., 5.}));
  expect_values(end.total, {0, 8, 23});
  expect_values(end.i, {1, 3, 5});
  State compiled = jit(over_i(f))(array({1., 3., 5.}));
  expect_values(compiled.total, {0, 8, 23});
  // And differentiated around the vmap.
  auto loss = [](const Array& x) {
    auto g = [](const Array& v) {
      return while_loop([](const Array& y) { return y < 10.; },
                        [&](const Array& y) { return 1.5 * y + 0.1 * psum(y * v, "i"); }, v);
    };
    return sum(over_i(g)(x) * array({1., 2., -1.}));
  };
  expect_derivatives(loss, array({1.1, 2.3, 4.1}));
}

TEST(Collectives, InLoopsThatLanesLeaveTogether) {
  // The condition is the same for all lanes, so the loop stays one loop, in reverse mode inside vmap too.
  auto f = [](const Array& x) {
    return while_loop([](const Array& y) { return pmax(y, "i") < 20.; },
                      [](const Array& y) { return y * 2. + pmean(y, "i"); }, x);
  };
  Array x = array({1., 2., 3.});
  expect_values(everywhere(f, x), {14, 18, 22});
  Array inside = everywhere(grad(f), x), around = grad([&](const Array&v) { return sum(over_i(f)(v)); })(x);
  expect_same_bits(inside, around);
  // scan
  auto g = [](const Array& v) {
    return scan(
        [&](const Array& c, const Array& t) {
          return std::pair{c + psum(v, "i") * t, axis_index("i")};
        },
        v, arange(3.));
  };
  auto [carry, ys] = over_i(g)(x);
  expect_values(carry, {19, 20, 21});
  EXPECT_EQ(to_string(ys.shape()), "[3, 3]");
}

TEST(Collectives, LanesOfAnotherAxisKeepTheirOwnPace) {
  // Over "j" the loops differ in length; over "i" they work together inside.
  auto f = [](const Array& x) {
    return while_loop([](const Array& y) { return y < 10.; }, [](const Array& y) { return y + pmax(y, "i"); },
                      x);
  };
  auto nest = vmap(vmap(f, {.axis_name = "j"}), {.axis_name = "i"});
  Array x = array({{1., 2., 3.}, {1., 4., 0.5}});
  Array got = nest(x);
  for (int j = 0; j < 3; ++j) {
    Array column = stack({x[0][j], x[1][j]});
    Array want = vmap(f, {.axis_name = "i"})(column);
    expect_same_bits(stack({got[0][j], got[1][j]}), want);
  }
  expect_same_bits(jit(nest)(x), got);
}

TEST(Collectives, ChooseBranchesLaneByLane) {
  auto f = [](const Array& x) {
    return cond(
        x > 1., [](const Array& v) { return psum(v, "i"); }, [](const Array& v) { return -v; }, x);
  };
  expect_values(everywhere(f, x3), {0, -1, 3});
}

TEST(Collectives, UnvmapReducesEverything) {
  Array x = array({{1., 2.}, {3., -4.}});
  auto any_negative = [](const Array& v) { return unvmap_any(v < 0.); };
  auto nest = [](auto f) { return vmap(vmap(f, {.out_axes = {}}), {.out_axes = {}}); };
  EXPECT_TRUE(nest(any_negative)(x).item<bool>());
  EXPECT_FALSE(nest([](const Array& v) { return unvmap_all(v < 0.); })(x).item<bool>());
  EXPECT_EQ(nest([](const Array& v) { return unvmap_max(v); })(x).item<double>(), 3.);
  EXPECT_EQ(jit(nest([](const Array& v) { return unvmap_max(v); }))(x).item<double>(), 3.);
  EXPECT_EQ(unvmap_max(x).item<double>(), 3.);
  EXPECT_TRUE(jit([](const Array& v) { return unvmap_any(v < 0.); })(x).item<bool>());
  // One loop for all lanes.
  auto f = [](const Array& v) {
    return while_loop([](const Array& y) { return unvmap_any(y < 10.); },
                      [](const Array& y) { return y * 2.; }, v);
  };
  expect_values(vmap(f)(array({1., 3., 5.})), {16, 48, 80});
}

// A trace that asked for an axis serves vmaps of that size alone; one that did not serves all.
TEST(Collectives, JittedFunctionsAreTracedForTheAxesTheyUse) {
  auto scaled = jit([](const Array& x) { return x * static_cast<double>(axis_size("i")); });
  auto doubled = jit([](const Array& x) { return x * 2.; });
  auto outer = jit([&](const Array& x) { return scaled(x) + doubled(x); });
  auto centred = jit([](const Array& x) { return x - pmean(x, "i"); });
  for (int round = 0; round < 2; ++round) {
    expect_values(over_i(outer)(x3), {0, 5, 10});
    expect_values(over_i(outer)(array({1., 3.})), {4, 12});
    expect_values(over_i(centred)(x3), {-1, 0, 1});
    expect_values(over_i(centred)(array({1., 3.})), {-1, 1});
  }
  EXPECT_EQ(scaled.trace_count(), 2);
  EXPECT_EQ(outer.trace_count(), 2);
  EXPECT_EQ(doubled.trace_count(), 1);
  EXPECT_THROW(scaled(array(1.)), Error);  // no axis
}

}  // namespace
}  // namespace apsis::testing
