// vmap(f, {.loops = …}): lanes and lockstep are two ways to run the same program.

#include <limits>

#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Walk {
  Array steps, x;
};

/// x grows until the lane's own bound; the inner loop's length differs from lane to lane and step to step.
Array climb(const Array& bound, const Array& x, const Array& w) {
  auto inner = [&](const Walk& s) {
    return while_loop([&](const Walk& t) { return t.steps < remainder(s.steps, 3); },
                      [&](const Walk& t) {
                        return Walk{t.steps + 1, t.x * 1.125 + w};
                      },
                      Walk{0, s.x})
        .x;
  };
  return while_loop([&](const Walk& s) { return sum(s.x) < bound; },
                    [&](const Walk& s) {
                      Array y = inner(s);
                      y = cond(
                          y[0] > 2., [&](const Array& v) { return v * 1.25 + w * bound; },
                          [](const Array& v) { return v + sqrt(abs(v) + 1.); }, y);
                      return Walk{s.steps + 1, y};
                    },
                    Walk{0, x})
      .x;
}

const Array bounds = array({5., 0., 40., 11., -1., 100., 7., 3.});  // two lanes end before they begin
const Array weights = array({0.25, 0.5});
Array starts() { return reshape(linspace(0.125, 2., 16), {8, 2}); }

VmapOptions in_mode(LaneLoops loops) { return {.in_axes = {0, 0, {}}, .loops = loops}; }
const LaneLoops modes[] = {LaneLoops::Automatic, LaneLoops::Lanes, LaneLoops::Lockstep};

std::int64_t occurrences(const std::string& text, const std::string& what) {
  std::int64_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Lockstep, IsAnotherWayToRunTheSameProgram) {
  const Array xs = starts();
  Array single = jit(climb)(bounds[0], xs[0], weights);
  for (LaneLoops mode : modes) {
    SCOPED_TRACE(static_cast<int>(mode));
    Array all = expect_compiled_as_interpreted(vmap(climb, in_mode(mode)), bounds, xs, weights);
    expect_same_bits(jit(vmap(climb, in_mode(mode)))(bounds, xs, weights), all);
    for (std::int64_t i = 0; i < bounds.size(); ++i)
      expect_same_bits(Array(all[i]), climb(bounds[i], xs[i], weights));
  }
  const auto program = [&](LaneLoops mode) {
    return make_graph(vmap(climb, in_mode(mode)), bounds, xs, weights);
  };
  EXPECT_EQ(occurrences(program(LaneLoops::Lanes), "map_lanes"), 1);
  EXPECT_EQ(program(LaneLoops::Automatic), program(LaneLoops::Lanes));
  EXPECT_EQ(occurrences(program(LaneLoops::Lockstep), "map_lanes"), 0);
}

TEST(Lockstep, UnderEveryOrderOfTransformations) {
  const Array xs = starts(), direction = cos(xs);
  auto loss = [](const Array& b, const Array& x, const Array& w) { return sum(climb(b, x, w) * x); };
  Array expected, along, by_weights;
  for (LaneLoops mode : modes) {
    SCOPED_TRACE(static_cast<int>(mode));
    auto total = [&](const Array& x, const Array& w) { return sum(vmap(loss, in_mode(mode))(bounds, x, w)); };
    auto [by_x, by_w] = expect_compiled_as_interpreted(grad<0, 1>(total), xs, weights);
    Array inside = jit(vmap(grad<1>(loss), in_mode(mode)))(bounds, xs, weights);
    expect_same_bits(by_x, inside);
    Array pushed =
        jvp([&](const Array& x) { return vmap(climb, in_mode(mode))(bounds, x, weights); }, xs, direction)
            .second;
    Array pushed_inside = jit(vmap(
        [&](const Array& b, const Array& x, const Array& d) {
          return jvp([&](const Array& y) { return climb(b, y, weights); }, x, d).second;
        },
        {.loops = mode}))(bounds, xs, direction);
    expect_same_bits(pushed, pushed_inside);
    auto curvature = [&](const Array& b, const Array& x) {
      return hessian([&](const Array& y) { return loss(b, y, weights); })(x);
    };
    Array second = jit(vmap(curvature, {.loops = mode}))(bounds, xs);
    expect_near(Array(second[5]), curvature(bounds[5], xs[5]), 1e-11);
    if (expected.is_empty()) {
      expected = by_x;
      along = pushed;
      by_weights = by_w;
      for (std::int64_t i = 0; i < bounds.size(); ++i)
        expect_same_bits(Array(by_x[i]), grad<1>(loss)(bounds[i], xs[i], weights));
    }
    expect_same_bits(by_x, expected);
    expect_same_bits(pushed, along);
    expect_near(by_w, by_weights, 1e-13);  // the lanes' shares are added in another order
  }
}

TEST(Lockstep, NestsBothWays) {
  const Array xs = starts();
  auto table = [&](LaneLoops outer, LaneLoops inner) {
    auto row = vmap(climb, {.in_axes = {0, {}, {}}, .loops = inner});
    return vmap(row, {.in_axes = {{}, 0, {}}, .loops = outer});
  };
  Array expected = table(LaneLoops::Lanes, LaneLoops::Lanes)(bounds, xs, weights);
  expect_same_bits(Array(expected(3, 2)), climb(bounds[2], xs[3], weights));
  for (LaneLoops outer : modes)
    for (LaneLoops inner : modes) {
      auto f = table(outer, inner);
      expect_same_bits(jit(f)(bounds, xs, weights), expected);
      const bool any_lanes = outer != LaneLoops::Lockstep || inner != LaneLoops::Lockstep;
      EXPECT_EQ(make_graph(f, bounds, xs, weights).find("map_lanes") != std::string::npos, any_lanes)
          << static_cast<int>(outer) << static_cast<int>(inner);
    }
}

TEST(Lockstep, OfLoopsOfEveryKind) {
  const Array lengths = array({0, 3, 17, 60, 1, 8}), xs = linspace(0.125, 0.875, 6);
  for (const WhileOptions& options : {WhileOptions{}, WhileOptions{.checkpoints = 4},
                                      WhileOptions{.max_steps = 100, .kind = Loop::Bounded}}) {
    auto loop = [&](const Array& n, const Array& x) {
      return while_loop([&](const Walk& s) { return s.steps < n; },
                        [](const Walk& s) {
                          return Walk{s.steps + 1, s.x + 0.125 * sin(s.x)};
                        },
                        Walk{0, x}, options)
          .x;
    };
    auto loss = [&](const Array& n, const Array& x) { return loop(n, x) * x; };
    const Array expected = vmap(grad<1>(loss))(lengths, xs);
    for (LaneLoops mode : modes) {
      auto total = [&](const Array& x) { return sum(vmap(loss, {.loops = mode})(lengths, x)); };
      expect_same_bits(jit(grad(total))(xs), expected);
      expect_same_bits(jit(vmap(grad<1>(loss), {.loops = mode}))(lengths, xs), expected);
    }
  }
}

TEST(Lockstep, OfSolvesThatSave) {
  const Array ts = linspace(0., 1., 5), rates = array({0.5, 30., 2., 8., 0.}),
              y0 = reshape(cos(arange(10.)), {5, 2});
  auto solve = [&](const Array& rate, const Array& y) {
    auto field = [&](const Array&, const Array& v) { return rate * stack({v[1], sin(v[0]) - v[1]}); };
    return diffeqsolve(ODETerm{field}, Tsit5{}, 0., 1., 0.1, y,
                       {.controller = PIDController{.rtol = 1e-6, .atol = 1e-9}, .saveat = {.ts = ts}})
        .ys;
  };
  Array expected;
  for (LaneLoops mode : modes) {
    const Array all = jit(vmap(solve, {.loops = mode}))(rates, y0);
    for (std::int64_t i = 0; i < rates.size(); ++i)
      expect_same_bits(Array(all[i]), jit(solve)(rates[i], y0[i]));
    auto total = [&](const Array& r, const Array& y) {
      return sum(square(vmap(solve, {.loops = mode})(r, y)));
    };
    const Array slope = jit(grad(total))(rates, y0);
    if (expected.is_empty()) expected = slope;
    expect_near(slope, expected, 1e-13);  // in lockstep the terms of a cotangent come in another order
  }
}

struct Filling {
  Array steps, x, rows, counts;
};

/// Writes to its buffers in every way: a row, rows in an inner loop, rows where a condition holds and
/// elements of a row where one does, in a branch; adds to elements by a list that names some twice and some
/// that are not there; one buffer is read too.
Array fill(const Array& length, const Array& x) {
  auto inner = [](const Filling& s) {
    return fori_loop(
        0, remainder(s.steps, 3),
        [&](const Array& i, const Array& rows) {
          return rows.at(10 + s.steps + i).set(s.x * astype(i, f64));
        },
        s.rows);
  };
  Filling end = while_loop([&](const Filling& s) { return s.steps < length; },
                           [&](const Filling& s) {
                             Array y = sin(s.x) + 0.125 * s.x + 0.0625 * s.counts[remainder(s.steps, 7)];
                             Array rows = inner(s).at(s.steps).set(y);
                             rows = rows.at(s.steps + 2).set(where(y[0] > 0.5, -y, rows[s.steps + 2]));
                             rows = rows.at(s.steps + 3).set(where(y > 0.5, 2. * y, rows[s.steps + 3]));
                             rows = cond(
                                 y[1] > 0.25, [&](const Array& r) { return r.at(30).set(y); },
                                 [](const Array& r) { return r; }, rows);
                             Array counts =
                                 s.counts.at(stack({s.steps, s.steps, 3 * s.steps, array(std::int64_t{-70})}))
                                     .add(y[0] * array({1., 0.5, 0.25, 8.}));
                             return Filling{s.steps + 1, y, rows, counts.at(2).max(y[1])};
                           },
                           Filling{0, x, zeros({32, 2}), zeros({33})});
  return sum(end.rows, {.axis = 1}) + end.counts(range(0, 32));
}

// An ended lane's buffers are left alone where the others write, instead of being chosen anew as a whole.
TEST(Lockstep, UpdatesBuffersInParts) {
  const Array lengths = array({0, 3, 17, 9, 1, 8}), xs = starts()(range(0, 6));
  auto in_lockstep = vmap(fill, {.loops = LaneLoops::Lockstep});
  Array all = expect_compiled_as_interpreted(in_lockstep, lengths, xs);
  expect_same_bits(jit(vmap(fill, {.loops = LaneLoops::Lanes}))(lengths, xs), all);
  for (std::int64_t i = 0; i < lengths.size(); ++i) expect_same_bits(Array(all[i]), fill(lengths[i], xs[i]));
  auto slope = [&](LaneLoops loops) {
    return jit(grad([&](const Array& x) { return sum(square(vmap(fill, {.loops = loops})(lengths, x))); }))(
        xs);
  };
  expect_near(slope(LaneLoops::Lockstep), slope(LaneLoops::Lanes), 1e-12);
  auto pushed = [&](LaneLoops loops) {
    return jvp([&](const Array& x) { return vmap(fill, {.loops = loops})(lengths, x); }, xs, cos(xs)).second;
  };
  expect_near(pushed(LaneLoops::Lockstep), pushed(LaneLoops::Lanes), 1e-13);
}

TEST(Lockstep, CopiesNoBuffer) {
  auto write = [](const Array& length, const Array& x) {
    return while_loop([&](const Walk& s) { return s.steps < length; },
                      [&](const Walk& s) {
                        return Walk{s.steps + 1, s.x.at(s.steps).set(cos(s.x[0]) + s.x[s.steps - 1])};
                      },
                      Walk{0, x * ones({500})})
        .x;
  };
  auto saved = [](const Array& length, const Array& x) {
    struct Saving {
      Array steps, x, rows;
    };
    return while_loop([&](const Saving& s) { return s.steps < length; },
                      [&](const Saving& s) {
                        return Saving{s.steps + 1, cos(s.x), s.rows.at(s.steps).set(s.x)};
                      },
                      Saving{0, x, zeros({500})})
        .rows;
  };
  const auto chosen = [](const auto& f) {
    const std::string text =
        make_graph(vmap(f, {.loops = LaneLoops::Lockstep}), array({3, 500, 7}), ones({3}));
    return occurrences(text, "f64[3,500] = select");
  };
  EXPECT_EQ(chosen(saved), 0);
  EXPECT_EQ(chosen(write), 0);
}

TEST(Lockstep, KeepsWhatEndedLanesWouldComputeOut) {
  // Past its end a lane would take the root of a negative number, whose infinite slope times zero is NaN, and
  // its inner loop would never end.
  auto fall = [](const Array& x) {
    return while_loop([](const Walk& s) { return s.x > 0.; },
                      [](const Walk& s) {
                        Array root = sqrt(s.x);
                        Array steps = while_loop([&](const Array& i) { return i * root < 1.; },
                                                 [](const Array& i) { return i + 1; }, Array(0));
                        return Walk{s.steps + steps, maximum(s.x - root - 0.25, 0.)};
                      },
                      Walk{0, x})
        .x;
  };
  auto weighted = [&](const Array& x) { return fall(x) + x; };
  const Array xs = array({0.5, 4., 0., 9., 1.});
  Array expected =
      grad([&](const Array& x) { return sum(vmap(weighted, {.loops = LaneLoops::Lanes})(x)); })(xs);
  Array found =
      grad([&](const Array& x) { return sum(vmap(weighted, {.loops = LaneLoops::Lockstep})(x)); })(xs);
  expect_same_bits(found, expected);
}

TEST(Lockstep, OfNoLanes) {
  auto halve = [](const Array& x) {
    return while_loop([](const Array& y) { return y > 1.; }, [](const Array& y) { return 0.5 * y; }, x);
  };
  auto total = [&](const Array& xs) { return sum(vmap(halve, {.loops = LaneLoops::Lockstep})(xs)); };
  EXPECT_EQ(jit(total)(zeros({0})).item<double>(), 0.);
  EXPECT_EQ(jit(grad(total))(zeros({0})).shape(), Shape({0}));
}

TEST(Lockstep, IsChosenForLargeSharedProductsAndExplained) {
  auto network = [](const Array& w, const Array& x) {
    return while_loop([](const Array& v) { return sum(v * v) > 1.; },
                      [&](const Array& v) { return 0.5 * v + 0.01 * tanh(matmul(w, v)); }, x);
  };
  auto with = [&](std::int64_t width, LaneLoops loops) {
    auto f = jit(vmap(network, {.in_axes = {{}, 0}, .loops = loops}), {.name = "batch"});
    f(full({width, width}, 0.01), full({6, width}, 2.));
    return explain(f);
  };
  const std::string small = with(64, LaneLoops::Automatic), large = with(1040, LaneLoops::Automatic);
  EXPECT_NE(small.find("which 6 lanes leave at different times, runs in lanes: of the "), std::string::npos)
      << small;
  EXPECT_NE(small.find(", 0 are large products with shared arrays"), std::string::npos) << small;
  EXPECT_NE(large.find("lockstep_test.cpp:"), std::string::npos) << large;
  EXPECT_NE(large.find("runs in lockstep: of the "), std::string::npos) << large;
  EXPECT_NE(large.find(", 1,081,600 are large products with shared arrays"), std::string::npos) << large;
  EXPECT_NE(with(1040, LaneLoops::Lanes).find("runs in lanes: so the vmap asks"), std::string::npos);
  EXPECT_NE(with(64, LaneLoops::Lockstep).find("runs in lockstep: so the vmap asks"), std::string::npos);

  // Every lane has its own matrix: nothing is shared.
  auto own = jit(vmap(network));
  own(full({2, 1040, 1040}, 0.001), full({2, 1040}, 2.));
  EXPECT_NE(explain(own).find("runs in lanes: of the "), std::string::npos) << explain(own);

  auto taped = jit(vmap(grad<1>([&](const Array& w, const Array& x) { return sum(network(w, x)); }),
                        {.in_axes = {{}, 0}, .loops = LaneLoops::Lockstep}));
  taped(full({4, 4}, 0.01), full({6, 4}, 2.));
  EXPECT_NE(explain(taped).find("runs in lanes: it keeps a tape, since the gradient is inside of the vmap"),
            std::string::npos)
      << explain(taped);
}

}  // namespace
}  // namespace apsis::testing
