// Kinds of loops and declared bounds: up to the bound all kinds are the same loop, beyond it there is an
// error, and never a result or a gradient of a loop cut short.

#include "control/repeat.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// The id of the error that a call ends with, or "none".
std::string error_of(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.id();
  }
  return "none";
}

const Array start = array({0.4, -0.7});
constexpr const char* past = "max_steps_exceeded";

struct Bound {
  std::int64_t max_steps, n;
};
// Among them none, and bounds at, below and above powers of sixteen.
const std::vector<Bound> kept = {{0, 0}, {1, 0}, {1, 1}, {2, 1}, {15, 15}, {16, 16}, {17, 17}, {100, 17}};
const std::vector<Bound> passed = {{0, 1}, {1, 2}, {2, 7}, {16, 17}, {17, 40}};

TEST(LoopKinds, WithinTheBoundTheyAreTheSameLoop) {
  for (const Bound& b : kept) {
    SCOPED_TRACE(std::to_string(b.n) + " of " + std::to_string(b.max_steps));
    Array n = array(b.n);
    const auto loss = [&](const WhileOptions& o) {
      return [=](const Array& x) { return sum(repeat(n, x, o) * x); };
    };
    const auto free = loss({});
    for (std::int64_t checkpoints : {0, 2})
      for (Loop kind : {Loop::Checkpointed, Loop::Bounded, Loop::Lax}) {
        const auto f = loss({.max_steps = b.max_steps, .kind = kind, .checkpoints = checkpoints});
        expect_same_bits(jit(f)(start), jit(free)(start));
        const auto push = [](const auto& g) {
          return jit([=](const Array& x) { return jvp(g, x, cos(x)).second; });
        };
        expect_same_bits(push(f)(start), push(free)(start));
        if (kind == Loop::Lax) {
          EXPECT_EQ(error_of([&] { grad(f)(start); }), "lax_loop_reverse");
          continue;
        }
        expect_near(jit(grad(f))(start), jit(grad(free))(start), 1e-14);
        expect_near(jit(hessian(f))(start), jit(hessian(free))(start), 1e-13);
      }
  }
}

// What the condition alone reads has no derivative, so there is nothing to refuse.
TEST(LoopKinds, LaxLoopsMayStandWhereNoDerivativeGoesThrough) {
  auto loss = [](const Array& x) {
    Array steps = while_loop([&](const Array& y) { return y < sum(x); },
                             [](const Array& y) { return y + 1.; }, array(0.), {.kind = Loop::Lax});
    return sum(x * x) * steps;
  };
  expect_near(jit(grad(loss))(array({1.2, 3.})), 2. * 5. * array({1.2, 3.}));
}

TEST(LoopKinds, PastTheBoundThereIsAnErrorInEveryMode) {
  for (const Bound& b : passed) {
    SCOPED_TRACE(std::to_string(b.n) + " of " + std::to_string(b.max_steps));
    Array n = array(b.n);
    for (std::int64_t checkpoints : {0, 2})
      for (Loop kind : {Loop::Checkpointed, Loop::Bounded, Loop::Lax}) {
        auto f = [=](const Array& x) {
          return sum(repeat(n, x, {.max_steps = b.max_steps, .kind = kind, .checkpoints = checkpoints}));
        };
        EXPECT_EQ(error_of([&] { f(start); }), past);
        EXPECT_EQ(error_of([&] { jit(f)(start); }), past);
        EXPECT_EQ(error_of([&] { jvp(f, start, start); }), past);
        EXPECT_EQ(error_of([&] { jit(vmap(f))(stack({start, start})); }), past);
        EXPECT_EQ(error_of([&] {
                    DisableJit off;
                    f(start);
                  }),
                  past);
        EXPECT_EQ(error_of([&] {
                    detail::InterpretScope interpreted;
                    f(start);
                  }),
                  past);
        if (kind == Loop::Lax) continue;
        EXPECT_EQ(error_of([&] { jit(grad(f))(start); }), past);
        EXPECT_EQ(error_of([&] { vjp(f, start); }), past);
        EXPECT_EQ(error_of([&] { jit(hessian(f))(start); }), past);
        EXPECT_EQ(error_of([&] { jit(vmap(grad(f)))(stack({start, start})); }), past);
      }
  }
}

// Lanes at their own pace: each has the bound for itself, whichever was in its place before.
TEST(LoopKinds, LanesHaveTheBoundEach) {
  constexpr std::int64_t lanes = 100;
  Array lengths = astype(remainder(arange(static_cast<double>(lanes)) * 7., 17.), i64),
        xs = cos(arange(100.));
  for (std::int64_t checkpoints : {0, 3}) {
    const auto one = [=](std::int64_t max_steps) {
      return [=](const Array& n, const Array& x) {
        return repeat(n, x, {.max_steps = max_steps, .checkpoints = checkpoints});
      };
    };
    const auto slope = [=](std::int64_t max_steps) {
      return [=](const Array& n, const Array& x) {
        return grad([&](const Array& y) { return one(max_steps)(n, y); })(x);
      };
    };
    expect_same_bits(jit(vmap(one(16)))(lengths, xs), jit(vmap(one(-1)))(lengths, xs));
    expect_same_bits(jit(vmap(slope(16)))(lengths, xs), jit(vmap(slope(-1)))(lengths, xs));
    EXPECT_EQ(error_of([&] { jit(vmap(one(15)))(lengths, xs); }), past);
    EXPECT_EQ(error_of([&] { jit(vmap(slope(15)))(lengths, xs); }), past);
  }
}

TEST(LoopKinds, InnerLoopsCountForThemselves) {
  // The inner loop runs 0, 1, 2, … times; its bound is passed in the outer loop's sixth iteration.
  const auto nested = [](std::int64_t outer_steps, std::int64_t inner_bound) {
    return [=](const Array& x) {
      return while_loop([&](const Count& s) { return s.i < outer_steps; },
                        [&](const Count& s) {
                          return Count{
                              s.i + 1,
                              repeat(s.i, s.x, {.max_steps = inner_bound, .kind = Loop::Bounded}) + 0.1};
                        },
                        Count{0, x}, {.max_steps = 6, .kind = Loop::Bounded})
          .x;
    };
  };
  Array x = array(0.4), xs = cos(arange(20.));
  expect_same_bits(jit(grad(nested(5, 4)))(x), jit(grad(nested(5, 9)))(x));
  EXPECT_EQ(error_of([&] { jit(grad(nested(6, 4)))(x); }), past);
  EXPECT_EQ(error_of([&] { jit(grad(nested(7, 9)))(x); }), past);
  expect_near(jit(vmap(grad(nested(6, 5))))(xs)[3], jit(grad(nested(6, 5)))(xs[3]), 1e-14);
  EXPECT_EQ(error_of([&] { jit(vmap(grad(nested(6, 4))))(xs); }), past);
}

LoopEnd<Count> stopped(const Array& n, const Array& x, const WhileOptions& options) {
  return while_loop_result([&](const Count& s) { return s.i < n; },
                           [](const Count& s) {
                             return Count{s.i + 1, sin(1.3 * s.x) + 0.1 * s.x};
                           },
                           Count{0, x}, options);
}

TEST(LoopResult, TellsWhetherTheLoopWasStopped) {
  const auto check = [&](auto&& run) {
    for (auto [max_steps, n] : {std::pair{5, 3}, {5, 5}, {5, 6}, {0, 0}, {0, 2}, {-1, 9}}) {
      SCOPED_TRACE(std::to_string(n) + " of " + std::to_string(max_steps));
      const std::int64_t made = max_steps < 0 ? n : std::min(n, max_steps);
      LoopEnd<Count> end = run(Array(std::int64_t{n}), WhileOptions{.max_steps = max_steps});
      EXPECT_EQ(end.steps.template item<std::int64_t>(), made);
      EXPECT_EQ(end.result.template item<std::int64_t>(), made < n ? 1 : 0);
      // Run directly, additions are not fused with products.
      expect_near(end.state.x, repeat(Array(made), start, {}), 1e-15);
    }
  };
  check([](const Array& n, const WhileOptions& o) { return stopped(n, start, o); });
  check([](const Array& n, const WhileOptions& o) {
    return jit([=](const Array& m) { return stopped(m, start, o); })(n);
  });
  check([](const Array& n, const WhileOptions& o) {
    DisableJit off;
    return stopped(n, start, o);
  });
}

TEST(LoopResult, TheGradientIsThatOfTheStepsMade) {
  for (const WhileOptions& options :
       {WhileOptions{.max_steps = 5}, WhileOptions{.max_steps = 5, .kind = Loop::Bounded},
        WhileOptions{.max_steps = 5, .checkpoints = 2}})
    for (std::int64_t n : {0, 3, 5, 9}) {
      auto loss = [=](const Array& x) { return sum(stopped(array(n), x, options).state.x); };
      auto want = [=](const Array& x) { return sum(repeat(array(std::min<std::int64_t>(n, 5)), x, {})); };
      expect_near(jit(grad(loss))(start), jit(grad(want))(start), 1e-14);
      expect_near(jit(vmap(grad(loss)))(stack({start, cos(start)}))[1], grad(want)(cos(start)), 1e-14);
    }
}

TEST(LoopResult, OfEachLane) {
  Array n = array({3, 9, 0, 5, 6, 4, 7, 1, 2, 12}), xs = cos(arange(10.));
  auto run = [](const Array& m, const Array& x) { return stopped(m, x, {.max_steps = 5}); };
  LoopEnd<Count> end = jit(vmap(run))(n, xs);
  EXPECT_EQ(to_string(end.steps), "[3 5 0 5 5 4 5 1 2 5]");
  EXPECT_EQ(to_string(end.result), "[0 1 0 0 1 0 1 0 0 1]");
  for (std::int64_t i = 0; i < 10; ++i)
    expect_same_bits(Array(end.state.x[i]), repeat(minimum(n[i], array(std::int64_t{5})), xs[i], {}));
}

}  // namespace
}  // namespace apsis::testing
