// Reverse mode in bounded memory: the same gradients as with a tape of every step, and no more forward steps
// than the schedules promise.

#include "control/flow/checkpoint_schedule.hpp"
#include "control/ticking.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Count {
  Array steps, x;
};

Array wander(const Array& n, const Array& x, const WhileOptions& options = {}) {
  Array scale = sum(x);
  return while_loop([&](const Count& s) { return s.steps < n; },
                    [&](const Count& s) {
                      return Count{s.steps + 1, sin(1.3 * s.x) + 0.1 * s.x * s.x[0] + 0.01 * scale};
                    },
                    Count{0, x}, options)
      .x;
}

TEST(Checkpoints, GradientsAreThoseOfTheTape) {
  Array x = array({0.3, -0.7, 1.1});
  for (std::int64_t n : {0, 1, 2, 3, 7, 8, 9, 40})
    for (std::int64_t kept : {2, 3, 6, 100}) {
      SCOPED_TRACE(std::to_string(n) + " steps, " + std::to_string(kept) + " states");
      auto loss = [&](std::int64_t states) {
        return [=](const Array& y) { return sum(wander(n, y, {.checkpoints = states}) * cos(y)); };
      };
      expect_near(grad(loss(kept))(x), grad(loss(0))(x), 1e-12);
    }
}

TEST(Checkpoints, InEveryModeAndNesting) {
  auto loss = [](const Array& y) { return sum(wander(7, y, {.checkpoints = 2}) * cos(y)); };
  expect_derivatives(loss, array({0.3, -0.7}));
}

TEST(Checkpoints, OfScans) {
  auto run = [](const Array& x, const Array& forces, const ScanOptions& options) {
    auto [last, path] = scan(
        [&](const Array& s, const Array& force) {
          Array next = sin(s + 0.1 * force) + 0.2 * s * x;
          return std::pair{next, next * s};
        },
        x, forces, options);
    return sum(last) + sum(square(path));
  };
  Array x = array({0.5, -0.2}), forces = reshape(cos(arange(34.)), {17, 2});
  for (bool reverse : {false, true})
    for (std::int64_t kept : {2, 4, 30}) {
      auto gradient = [&](std::int64_t states) {
        return grad<0, 1>([=](const Array& y, const Array& f) {
          return run(y, f, {.reverse = reverse, .checkpoints = states});
        })(x, forces);
      };
      expect_near(gradient(kept), gradient(0), 1e-12);
    }
}

TEST(Checkpoints, UnderVmap) {
  auto gradient = [](const Array& n, const Array& x) {
    return grad([&](const Array& y) { return sum(wander(n, y, {.checkpoints = 4})); })(x);
  };
  Array n = array({0, 9, 23, 1, 5, 16, 2, 30, 4, 11}), x = reshape(cos(arange(30.)), {10, 3});
  Array all = jit(vmap(gradient))(n, x);
  auto single = jit(gradient);
  for (std::int64_t i = 0; i < 10; ++i) expect_same_bits(Array(all[i]), single(n[i], x[i]));
  auto total = [&](const Array& y) {
    return sum(
        vmap([](const Array& k, const Array& z) { return sum(wander(k, z, {.checkpoints = 4})); })(n, y));
  };
  expect_near(jit(grad(total))(x), all, 1e-12);
}

TEST(Checkpoints, ForwardStepsAreTheFewestOfKnownLength) {
  auto steps = [](std::int64_t length, std::int64_t states) {
    auto loss = [=](const Array& x) {
      return scan(
                 [](const Array& s, const Nothing&) {
                   return std::pair{ticking(sin(s)), Nothing{}};
                 },
                 x, Nothing{}, {.length = length, .checkpoints = states})
          .first;
    };
    ticks = 0;
    grad(loss)(array(0.5));
    return ticks;
  };
  // r·length - C(states + r, r - 1) when the loop stops where the way back begins; here it goes to its end
  // first, and the steps from the last state kept are run again.
  auto again = [](std::int64_t length, std::int64_t states) {
    return length - detail::first_kept(length, states).back();
  };
  EXPECT_EQ(steps(1000, 10), 4 * 1000 - 364 + again(1000, 10));
  EXPECT_EQ(steps(1'000'000, 1000), 2'497'497 + again(1'000'000, 1000));
  EXPECT_LT(again(1'000'000, 1000), 10);
}

TEST(Checkpoints, ForwardStepsOfUnknownLength) {
  Array x = array(0.5);
  auto loss = [](const Array& n) {
    return [=](const Array& y) {
      return while_loop([&](const Count& s) { return s.steps < n; },
                        [](const Count& s) {
                          return Count{s.steps + 1, ticking(sin(s.x))};
                        },
                        Count{0, y}, {.checkpoints = 100})
          .x;
    };
  };
  for (auto [n, bound] : {std::pair{100, 200.}, {5000, 1.2 * 9850}, {20000, 1.35 * 54849}}) {
    ticks = 0;
    grad(loss(Array(n, i64)))(x);
    RecordProperty("forward_steps_" + std::to_string(n), std::to_string(ticks));
    EXPECT_LT(static_cast<double>(ticks), bound);
    EXPECT_GE(ticks, n);
  }
}

TEST(Checkpoints, MayBeGivenInBytes) {
  Array x = array({0.3, -0.7, 1.1});
  auto loss = [&](const WhileOptions& options) {
    return [=](const Array& y) { return sum(wander(50, y, options)); };
  };
  expect_near(grad(loss({.checkpoint_bytes = 200}))(x), grad(loss({}))(x), 1e-12);
  // The store has room for the states that fit, of which the steps are no part, and one row more.
  std::string program = make_graph(grad(loss({.checkpoint_bytes = 200})), x);
  EXPECT_NE(program.find("f64[9,3]"), std::string::npos);
  EXPECT_EQ(program.find("list<"), std::string::npos);
}

// A state is what the next ones and the way back are computed from: what is only written is no part of it.
// Here it is a number and three others, 32 bytes.
TEST(Checkpoints, BytesAreThoseThatAreKept) {
  struct Log {
    Array steps, x, rows;
  };
  Array x = array({0.3, -0.7, 1.1});
  auto loss = [](const WhileOptions& options) {
    return [=](const Array& y, const Array& n) {
      Log end = while_loop([&](const Log& s) { return s.steps < n; },
                           [](const Log& s) {
                             Array next = sin(1.3 * s.x);
                             return Log{s.steps + 1, next, s.rows.at(s.steps).set(next)};
                           },
                           Log{0, y, zeros({50, 3})}, options);
      return sum(end.x) + sum(square(end.rows));
    };
  };
  const WhileOptions bounded{.checkpoint_bytes = 240};
  const std::string program = make_graph(grad(loss(bounded)), x, array(40));
  EXPECT_NE(program.find("f64[7,3]"), std::string::npos);
  EXPECT_EQ(program.find(",50,3]"), std::string::npos);
  expect_near(jit(grad(loss(bounded)))(x, array(40)), jit(grad(loss({})))(x, array(40)), 1e-12);
  auto scanned = [](const ScanOptions& options) {
    return [=](const Array& y) {
      auto [end, rows] = scan(
          [](const Array& s, const Nothing&) {
            Array next = sin(1.3 * s);
            return std::pair{next, next};
          },
          y, Nothing{}, options);
      return sum(end) + sum(square(rows));
    };
  };
  const ScanOptions short_of{.length = 40, .checkpoint_bytes = 240};
  EXPECT_NE(make_graph(grad(scanned(short_of)), x).find("f64[8,3]"), std::string::npos);
  expect_near(jit(grad(scanned(short_of)))(x), jit(grad(scanned({.length = 40})))(x), 1e-12);
}

// There is room for as many states as a loop can have, not for as many as a budget would allow: of unknown
// length without a bound, for 16384.
TEST(Checkpoints, BudgetsBeyondWhatIsNeeded) {
  auto loss = [](const WhileOptions& options) {
    return [=](const Array& y) {
      return sum(while_loop([&](const Count& s) { return s.steps < 5; },
                            [](const Count& s) {
                              return Count{s.steps + 1, sin(1.3 * s.x)};
                            },
                            Count{0, y}, options)
                     .x);
    };
  };
  const Array x = array({0.3, -0.7, 1.1}), slope = grad(loss({}))(x);
  const std::int64_t terabyte = std::int64_t{1} << 40;
  const auto expect_rows = [&](const char* store, const WhileOptions& options) {
    SCOPED_TRACE(store);
    EXPECT_NE(make_graph(grad(loss(options)), x).find(store), std::string::npos);
    expect_near(grad(loss(options))(x), slope, 1e-12);
    expect_near(jit(vmap(grad(loss(options))))(stack({x, x}))[1], slope, 1e-12);
  };
  expect_rows("f64[16385,3]", {.checkpoint_bytes = terabyte});
  expect_rows("f64[9,3]", {.max_steps = 7, .checkpoint_bytes = terabyte});
  expect_rows("f64[9,3]", {.max_steps = 7, .checkpoints = 1'000'000});
  expect_rows("f64[20001,3]", {.checkpoints = 20000});
}

// A linear loop has no states to keep: it goes straight back.
TEST(Checkpoints, NoStates) {
  auto loss = [](const WhileOptions& options) {
    return [=](const Array& y, const Array& n) {
      return sum(while_loop([&](const Count& s) { return s.steps < n; },
                            [](const Count& s) {
                              return Count{s.steps + 1, ticking(0.5 * s.x + flip(s.x, 0))};
                            },
                            Count{0, y}, options)
                     .x);
    };
  };
  Array x = array({0.3, -0.7, 1.1}), n = array(40);
  ticks = 0;
  for (const WhileOptions& o : {WhileOptions{.checkpoints = 2}, WhileOptions{.checkpoint_bytes = 1 << 30}})
    expect_near(grad(loss(o))(x, n), grad(loss({}))(x, n), 1e-12);
  EXPECT_EQ(ticks, 4 * 40);
}

// Lanes that make the same steps may stay one loop, whose states are those of all lanes.
TEST(Checkpoints, OfLanesThatKeepStep) {
  Array xs = reshape(cos(arange(12.)), {4, 3});
  auto total = [](std::int64_t states) {
    return [states](const Array& all) {
      return sum(vmap(
          [states](const Array& x) {
            return scan(
                       [&](const Array& s, const Nothing&) {
                         return std::pair{sin(1.3 * s) * x, Nothing{}};
                       },
                       x, Nothing{}, {.length = 30, .checkpoints = states})
                .first;
          },
          {.loops = LaneLoops::Lockstep})(all));
    };
  };
  expect_near(jit(grad(total(5)))(xs), jit(grad(total(0)))(xs), 1e-12);
  EXPECT_EQ(make_graph(total(5), xs).find("map_lanes"), std::string::npos);
  EXPECT_NE(make_graph(grad(total(5)), xs).find("f64[6,4,3]"), std::string::npos);
}

TEST(Checkpoints, InTaylorMode) {
  auto end = [](std::int64_t states) {
    return [states](const Array& x) { return wander(array(9), x, {.checkpoints = states}); };
  };
  Array x = array({0.3, -0.7}), v = array({1., 0.5});
  expect_same_bits(jet(end(3), x, {v, 0. * v}).second[1], jet(end(0), x, {v, 0. * v}).second[1]);
}

}  // namespace
}  // namespace apsis::testing
