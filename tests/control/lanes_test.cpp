// Loops under vmap: every lane runs at its own pace, and is bit for bit what it would be alone.

#include <utility>

#include "codegen/support/lanes.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Orbit {
  Array steps, x;
};

/// Doubles until a bound that the lane sets.
Array climb(const Array& x) {
  return while_loop([](const Orbit& s) { return sum(s.x) < 40.; },
                    [&](const Orbit& s) {
                      return Orbit{s.steps + 1, s.x * 1.5 + cos(x * s.x)};
                    },
                    Orbit{0, x})
      .x;
}

Array newton(const Array& a) {
  return while_loop([&](const Array& x) { return abs(x * x - a) > 1e-10 * a; },
                    [&](const Array& x) { return 0.5 * (x + a / x); }, 1. + 0. * a);
}

template <class F>
void expect_lanes_alone(const F& f, const Array& xs) {
  Array all = expect_compiled_as_interpreted(vmap(f), xs);
  Array compiled = jit(vmap(f))(xs);
  for (std::int64_t i = 0; i < xs.dim(0); ++i) {
    SCOPED_TRACE(i);
    expect_same_bits(Array(all[i]), f(xs[i]));
    expect_same_bits(Array(compiled[i]), jit(f)(xs[i]));
  }
}

Array points() {
  return array({{0.1, 0.2}, {30., 20.}, {1., 1.}, {5., -1.}, {0.01, 0.}, {2., 2.}, {11., 3.}});
}

TEST(Lanes, DifferInLength) {
  expect_lanes_alone(climb, points());
  expect_lanes_alone(newton, array({1., 2., 1e6, 1e-3, 4., 9., 50., 3., 7., 8., 12.}));
}

TEST(Lanes, GradientsAreThoseOfSingleLoops) {
  auto loss = [](const Array& x) { return sum(climb(x) * x); };
  expect_lanes_alone(grad(loss), points());
  expect_lanes_alone([](const Array& x) { return jvp(climb, x, cos(x)).second; }, points());
  auto total = [&](const Array& xs) { return sum(vmap(loss)(xs)); };
  expect_near(expect_compiled_as_interpreted(grad(total), points()), vmap(grad(loss))(points()), 1e-12);
  expect_near(jit(grad(total))(points()), vmap(grad(loss))(points()), 1e-12);
  Array roots = array({2., 9., 1e4});
  expect_near(grad([](const Array& a) { return sum(vmap(newton)(a)); })(roots), 0.5 / sqrt(roots), 1e-9);
}

TEST(Lanes, SecondDerivatives) {
  auto loss = [](const Array& x) { return sum(climb(x) * x); };
  expect_near(vmap(hessian(loss))(points())[3], hessian(loss)(points()[3]), 1e-11);
  auto total = [&](const Array& xs) { return sum(vmap(loss)(xs)); };
  expect_derivatives(total, array({{0.1, 0.2}, {30., 20.}, {1., 1.}}), 1e-8, 1e-4);
}

TEST(Lanes, ShareWhatIsCaptured) {
  auto loss = [](const Array& w) {
    auto lane = [&](const Array& n) {
      return while_loop([&](const Orbit& s) { return s.steps < n; },
                        [&](const Orbit& s) {
                          return Orbit{s.steps + 1, sin(w) * s.x + w[0]};
                        },
                        Orbit{0, array({0.5, 0.25})})
          .x;
    };
    return sum(vmap(lane)(array({3, 0, 5, 1})));
  };
  expect_derivatives(loss, array({0.4, 0.9}));
}

TEST(Lanes, OfALoopWithEqualLengths) {
  // The condition does not depend on the lane: few elements go lane by lane in registers, many stay one loop.
  auto fixed = [](const Array& x) {
    return while_loop([](const Orbit& s) { return s.steps < 3; },
                      [](const Orbit& s) {
                        return Orbit{s.steps + 1, s.x * s.x};
                      },
                      Orbit{0, x})
        .x;
  };
  expect_lanes_alone(fixed, points());
  auto runs_in_lanes = [&](const auto& f, const Array& x, LaneLoops loops) {
    return make_graph(vmap(f, {.loops = loops}), x).find("map_lanes") != std::string::npos;
  };
  const Array large = ones({4, 100});
  EXPECT_TRUE(runs_in_lanes(fixed, points(), LaneLoops::Automatic));
  EXPECT_FALSE(runs_in_lanes(fixed, points(), LaneLoops::Lockstep));
  EXPECT_FALSE(runs_in_lanes(fixed, large, LaneLoops::Automatic));
  EXPECT_TRUE(runs_in_lanes(fixed, large, LaneLoops::Lanes));
  expect_same_bits(jit(vmap(fixed))(points()), jit(vmap(fixed, {.loops = LaneLoops::Lockstep}))(points()));
  auto told = jit(vmap(fixed));
  told(points());
  EXPECT_NE(
      explain(told).find("lanes leave together, runs in lanes: an iteration of a lane makes arrays of up to"),
      std::string::npos)
      << explain(told);
  EXPECT_NE(make_graph(vmap(climb), points()).find("map_lanes"), std::string::npos);
}

TEST(Lanes, OfLoopsLeftTogetherByTheSizesOfArrays) {
  const auto in_lanes = [](const auto& f, const Array& x) {
    return make_graph(f, x).find("map_lanes") != std::string::npos;
  };
  const auto step = [](const Array& y) { return 0.5 * y + sin(y); };
  const auto loop = [&](const Array& x) {
    return fori_loop(
        0, 4, [&](const Array&, const Array& y) { return step(y); }, x);
  };
  EXPECT_TRUE(in_lanes(vmap(loop), ones({64, 100})));
  EXPECT_FALSE(in_lanes(vmap(loop), ones({63, 100})));   // too few for threads
  EXPECT_FALSE(in_lanes(vmap(loop), ones({64, 2000})));  // beyond the cache
  EXPECT_TRUE(in_lanes(vmap(loop), ones({2, 64})));
  // Reverse mode of larger arrays is faster in lockstep.
  const auto total = [&](const Array& x) { return sum(vmap(loop)(x)); };
  EXPECT_FALSE(in_lanes(grad(total), ones({64, 100})));
  EXPECT_TRUE(in_lanes(grad(total), ones({64, 10})));
  // That of linear loops keeps no tape.
  const auto linear = [](const Array& x) {
    return fori_loop(
        0, 4,
        [&](const Array&, const Array& y) {
          const Array weights = arange(double(y.size() - 1));
          return concatenate({0.5 * (y[range(1, {})] - weights * y[range({}, -1)]), y[range(0, 1)] / 3.}) -
                 2. * y;
        },
        x);
  };
  const auto total_of_linear = [&](const Array& x) { return sum(square(vmap(linear)(x))); };
  EXPECT_TRUE(in_lanes(grad(total_of_linear), ones({64, 100})));
  EXPECT_FALSE(in_lanes(grad(total_of_linear), ones({64, 300})));
  const auto in_lockstep = [&](const Array& x) {
    return sum(square(vmap(linear, {.loops = LaneLoops::Lockstep})(x)));
  };
  const Array x = sin(reshape(arange(6400.), {64, 100}));
  expect_near(jit(grad(total_of_linear))(x), jit(grad(in_lockstep))(x), 1e-6);
  // A large matrix that lanes share.
  for (const std::int64_t n : {40, 60}) {
    const Array w = ones({100, n}) / 100.;
    const auto layers = [&](const Array& x) {
      return fori_loop(
          0, 4, [&](const Array&, const Array& y) { return 0.5 * y + dot(tanh(dot(w, y)), w); }, x);
    };
    EXPECT_EQ(in_lanes(vmap(layers), ones({64, n})), n == 40);
  }
  // What lanes share may be several times what they do not.
  const auto beside = [&](int times) {
    return [&, times](const Array& x) {
      return fori_loop(
                 0, 4,
                 [&](const Array&, const std::pair<Array, Array>& s) {
                   Array shared = s.second;
                   for (int i = 0; i < times; ++i) shared = 0.5 * shared + sin(shared);
                   return std::pair(step(s.first) * shared, shared);
                 },
                 std::pair(x, Array(0.5, f64)))
          .first;
    };
  };
  EXPECT_TRUE(in_lanes(vmap(beside(4)), ones({64})));
  EXPECT_FALSE(in_lanes(vmap(beside(20)), ones({64})));
}

TEST(Lanes, ShortLoopsTakeSeveralRegistersAValue) {
  const auto packets = [](std::int64_t elements) {
    const auto loop = [](const Array& x) {
      return fori_loop(
          0, 5, [](const Array&, const Array& y) { return 0.5 * y + 0.125; }, x);
    };
    const Array xs = cos(reshape(arange(1024. * static_cast<double>(elements)), {1024, elements}));
    const auto run = jit(vmap(loop, {.loops = LaneLoops::Lanes}));
    const std::int64_t before = detail::lane_counts().packet_steps;
    const Array all = run(xs);
    const std::int64_t made = detail::lane_counts().packet_steps - before;
    for (int lane : {0, 77, 1023}) expect_same_bits(Array(all[lane]), jit(loop)(xs[lane]));
    const auto narrow = jit(vmap(loop, {.loops = LaneLoops::Lanes}), {.compile = {.lanes = 1}});
    expect_same_bits(narrow(xs), all);
    return made;
  };
  const std::int64_t one = packets(33);
  EXPECT_EQ(2 * packets(20), one);
  EXPECT_EQ(4 * packets(7), one);
  EXPECT_EQ(8 * packets(4), one);
}

TEST(Lanes, NestedVmapsAndLoops) {
  auto inner = [](const Array& x, const Array& y) {
    return while_loop([&](const Array& z) { return z < y; },
                      [&](const Array& z) {
                        return while_loop([](const Array& t) { return t < 1.; },
                                          [&](const Array& t) { return t + 0.3 + 0.1 * abs(x); }, z * 0.1) +
                               z;
                      },
                      abs(x));
  };
  auto table = vmap(vmap(inner, {.in_axes = {{}, 0}}), {.in_axes = {0, {}}});
  Array xs = array({0.5, -0.2, 3.}), ys = array({1., 4., 2., 9.});
  Array got = expect_compiled_as_interpreted(table, xs, ys);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) expect_same_bits(Array(got(i, j)), inner(xs[i], ys[j]));
  auto total = [&](const Array& x) { return sum(table(x, ys)); };
  expect_near(grad(total)(xs), differences(total, xs, 1e-5), 1e-8);
}

TEST(Lanes, GradientsOfGradientsOfLanes) {
  // Lanes of lanes of loops that keep tapes: a list for each lane of each lane.
  auto total = [](const Array& xs) {
    return sum(vmap(grad([](const Array& x) { return sum(climb(x) * x); }))(xs));
  };
  Array all = stack({points()(range(0, 3)), points()(range(2, 5)), points()(range(4, 7))});
  expect_lanes_alone(grad(total), all);
  expect_near(grad(total)(all[0]), differences(total, all[0], 1e-4), 1e-7);
}

TEST(Lanes, HoldAsManyAsTheirFloatsAllow) {
  // The literals are weak f64: they do not halve the packets of an f32 program.
  auto grow = [](const Array& x) {
    return while_loop([](const Array& v) { return v < 40.; }, [](const Array& v) { return v * 1.5 + 0.25; },
                      x);
  };
  const std::string code = lower(vmap(grow), full({64}, 1., f32)).compile().code_text();
  EXPECT_NE(code.find(" x float>"), std::string::npos);
  EXPECT_EQ(code.find(" x double>"), std::string::npos) << code;
  expect_lanes_alone(grow, astype(linspace(1., 30., 61), f32));
}

// A batch of one has nothing to mask or to hand out: its loops are those of the single call.
TEST(Lanes, ABatchOfOneIsTheLoopItself) {
  for (const WhileOptions& options : {WhileOptions{}, WhileOptions{.checkpoints = 4}}) {
    auto halve = [options](const Array& x) {
      return sum(while_loop([](const Array& y) { return sum(y * y) > 0.1; },
                            [](const Array& y) { return 0.5 * y * cos(y[0]); }, x, options));
    };
    auto fold = [](const Array& x) {
      return scan(
                 [](const Array& c, const Array& y) {
                   return std::pair{Array(sin(c) * y), Nothing{}};
                 },
                 x[0], x)
          .first;
    };
    const Array x = array({1.5, -0.3, 2.});
    const auto check = [&](const auto& f) {
      EXPECT_EQ(make_graph(vmap(grad(f)), expand_dims(x, 0)).find("map_lanes"), std::string::npos);
      expect_same_bits(jit(vmap(f))(expand_dims(x, 0))[0], jit(f)(x));
      expect_same_bits(jit(vmap(grad(f)))(expand_dims(x, 0))[0], jit(grad(f))(x));
      expect_same_bits(jit(vmap(f, {.in_axes = {1}}))(expand_dims(x, 1))[0], jit(f)(x));
      expect_near(jit(grad([&](const Array& xs) { return sum(vmap(f)(xs)); }))(expand_dims(x, 0))[0],
                  grad(f)(x));
      expect_near(jit(hessian([&](const Array& y) { return vmap(f)(expand_dims(y, 0))[0]; }))(x),
                  hessian(f)(x));
    };
    check(halve);
    check(fold);
  }
}

TEST(Lanes, ThatAreNone) {
  EXPECT_EQ(to_string(vmap(climb)(zeros({0, 2})).shape()), to_string(Shape{0, 2}));
  EXPECT_EQ(to_string(vmap(grad([](const Array& x) { return sum(climb(x)); }))(zeros({0, 2})).shape()),
            to_string(Shape{0, 2}));
}

}  // namespace
}  // namespace apsis::testing
