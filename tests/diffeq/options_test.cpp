// Options of a solve that do not change what it means: how its gradient keeps states, and what ends it.

#include "control/ticking.hpp"
#include "core/memory.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Lorenz {
  Array sigma, rho, beta;
  Array operator()(const Array&, const Array& y) const {
    auto [a, b, c] = unstack<3>(y);
    return stack({sigma * (b - a), a * (rho - c) - b, a * b - beta * c});
  }
};
const Lorenz lorenz{array(10.), array(28.), array(8. / 3.)};
const Array start = array({1., 0.5, -0.3});
// Beside it a number that decays: of more than three numbers reverse mode keeps a tape.
struct LorenzAndDecay {
  Array operator()(const Array& t, const Array& y) const {
    return concatenate({lorenz(t, y(range(0, 3))), -y(range(3, 4))});
  }
};
const Array four = array({1., 0.5, -0.3, 0.2});
const PIDController adaptive{.rtol = 1e-6, .atol = 1e-9};

/// A loss that reads saved states in the middle, or the last one only.
auto loss_of(const SolveOptions& options, bool constant, double t1 = 1.) {
  return [=](const Lorenz& model, const Array& y0) {
    SolveOptions all = options;
    if (!constant) all.controller = adaptive;
    auto sol = diffeqsolve(ODETerm{model}, Tsit5{}, 0., t1, constant ? Array(0.01) : Array(), y0, all);
    return sum(sol.ys * cos(sol.ys)) / static_cast<double>(sol.ys.size());
  };
}

TEST(SolveOptions, CheckpointsGiveTheGradientOfTheTape) {
  for (bool constant : {true, false})
    for (bool save : {false, true}) {
      SCOPED_TRACE(std::string(constant ? "constant" : "adaptive") + (save ? ", saving" : ""));
      SaveAt saveat;
      if (save) saveat.ts = linspace(0.1, 1., 7);
      auto gradient = [&](const SolveOptions& o) {
        return jit(grad<0, 1>(loss_of(o, constant)))(lorenz, start);
      };
      auto want = gradient({.saveat = saveat});
      for (std::int64_t n : {2, 5, 30, 1000})
        expect_same_bits(gradient({.saveat = saveat, .checkpoints = n}), want);
      for (std::int64_t bytes : {200, 5000})
        expect_same_bits(gradient({.saveat = saveat, .checkpoint_bytes = bytes}), want);
    }
}

TEST(SolveOptions, CheckpointsInLanes) {
  Array y0 = start + 0.01 * reshape(cos(arange(60.)), {20, 3});
  for (bool constant : {true, false}) {
    auto gradient = [&](const SolveOptions& o) { return grad<1>(loss_of(o, constant, 0.4)); };
    auto f = gradient({.checkpoints = 6});
    Array all = jit(vmap(f, {.in_axes = {{}, 0}}))(lorenz, y0);
    auto single = jit(f);
    for (std::int64_t i : {0, 7, 19}) expect_same_bits(Array(all[i]), single(lorenz, y0[i]));
    expect_near(all, jit(vmap(gradient({}), {.in_axes = {{}, 0}}))(lorenz, y0), 1e-12);
  }
}

// The states kept, and the tape, are of what the next step needs: rows that are saved are not, whatever their
// number.
TEST(SolveOptions, AStateIsWhatTheNextStepNeeds) {
  auto program = [](const SolveOptions& o) {
    return make_graph(grad([=](const Array& y0) {
                        SolveOptions all = o;
                        all.controller = adaptive;
                        return sum(diffeqsolve(ODETerm{LorenzAndDecay{}}, Tsit5{}, 0., 1., {}, y0, all).ys);
                      }),
                      four);
  };
  const auto holds = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const SaveAt saving{.ts = linspace(0.1, 1., 777)};
  EXPECT_FALSE(holds(program({.saveat = saving}), "list<f64[777"));
  const std::string text = program({.saveat = saving, .checkpoints = 12});
  EXPECT_TRUE(holds(text, "f64[13,4]")) << "twelve states, and a row for those not kept";
  EXPECT_FALSE(holds(text, "f64[13,777"));
  // Of a solve that saves nothing on its way nothing grows.
  EXPECT_TRUE(holds(program({}), "list<"));
  EXPECT_FALSE(holds(program({.checkpoints = 12}), "list<"));
  // 88 bytes a state: y, the slope, where the step starts and ends, where the next row goes.
  const std::string in_bytes = program({.saveat = saving, .checkpoint_bytes = 16 * 88});
  EXPECT_TRUE(holds(in_bytes, "f64[17,4]"));
  EXPECT_FALSE(holds(in_bytes, "f64[17,777"));
}

struct Ticking {
  Array operator()(const Array& t, const Array& y) const { return LorenzAndDecay{}(t, ticking(y)); }
};

std::int64_t bytes_in_use() { return detail::memory_use().live; }

/// The identity, whose pull-back notes how much memory is in use: the way forwards is then over, and what it
/// recorded is there.
Array noting_memory(const Array& x, std::int64_t& bytes) {
  auto note = pure_callback(
      [&bytes](const Array& ct) {
        bytes = bytes_in_use();
        return ct;
      },
      zeros({}));
  return custom_vjp([](const Array& y) { return 1. * y; },
                    [](const Array& y) {
                      return std::pair{1. * y, Nothing{}};
                    },
                    [note](Nothing, const Array& ct) { return note(ct); })(x);
}

TEST(SolveOptions, CheckpointsBoundTheMemoryAndTheStepsTakenAgain) {
  constexpr std::int64_t steps = 400, evaluations = 6;  // of the vector field, a step of Tsit5
  std::int64_t bytes = 0;
  auto gradient = [&bytes](const SolveOptions& o, const auto& field, std::int64_t count) {
    SolveOptions options = o;
    options.max_steps = count + 5;  // the sum of the steps is rounded
    const double t1 = 1e-4 * static_cast<double>(count);
    return jit(grad([=, &bytes](const Array& y0) {
      return noting_memory(sum(diffeqsolve(ODETerm{field}, Tsit5{}, 0., t1, 1e-4, y0, options).ys), bytes);
    }));
  };
  const auto steps_of = [&](const SolveOptions& o) {
    auto f = gradient(o, Ticking{}, steps);
    ticks = 0;
    f(four);
    return static_cast<double>(ticks) / evaluations;
  };
  // With twenty states, known length: 3 · 400 - C(23, 2) = 947 steps forwards; the length of a solve is not
  // known. Each step that is reversed evaluates the field once more.
  const double taped = steps_of({}), kept = steps_of({.checkpoints = 20});
  RecordProperty("forward_steps", std::to_string(kept - steps));
  EXPECT_NEAR(taped, 2 * steps, 2);
  EXPECT_GT(kept, taped);
  EXPECT_LT(kept - steps, 1.4 * 947);

  constexpr std::int64_t many = 20000, budget = 20000;
  auto all = gradient({}, LorenzAndDecay{}, many),
       few = gradient({.checkpoint_bytes = budget}, LorenzAndDecay{}, many);
  expect_same_bits(few(four), all(four));
  const auto recorded = [&](auto& f) {
    const std::int64_t before = bytes_in_use();
    f(four);
    return bytes - before;
  };
  const std::int64_t tape = recorded(all), states = recorded(few);
  RecordProperty("bytes_of_tape", std::to_string(tape));
  RecordProperty("bytes_with_budget", std::to_string(states));
  EXPECT_LT(states, 4 * budget);
  EXPECT_GT(tape, many * 32);
}

// Few numbers: their derivatives are carried along, in no memory that grows with the steps.
TEST(SolveOptions, FewNumbersAreForwardSensitivities) {
  auto loss = [](const SolveOptions& o) {
    return [=](const Array& rho, const Array& y0) {
      SolveOptions all = o;
      all.controller = adaptive;
      const Lorenz model{array(10.), rho, array(8. / 3.)};
      return sum(square(diffeqsolve(ODETerm{model}, Tsit5{}, 0., 2., {}, y0, all).ys));
    };
  };
  const Array rho = array(28.);
  for (const SaveAt& save : {SaveAt{}, SaveAt{.ts = linspace(0.5, 2., 7)}, SaveAt{.steps = 3}}) {
    SCOPED_TRACE(std::to_string(save.steps) + " " + to_string(save.ts));
    const auto few = loss({.saveat = save, .max_steps = 300});
    const auto kept = loss({.saveat = save, .max_steps = 300, .checkpoints = 300});
    auto g = jit(grad(few));
    const Array want = jit(grad(kept))(rho, start);
    expect_near(g(rho, start), want, 1e-12);
    EXPECT_NE(explain(g).find("by 1 number along"), std::string::npos) << explain(g);
    EXPECT_EQ(make_graph(grad(few), rho, start).find("list<"), std::string::npos);
    expect_near(jit(grad(grad(few)))(rho, start), jit(grad(grad(kept)))(rho, start), 1e-10);
    auto lanes = jit(vmap(grad(few), {.in_axes = {0, {}}}))(array({20., 28., 30.}), start);
    expect_same_bits(Array(lanes[1]), g(rho, start));
  }
}

TEST(SolveOptions, MaxStepsIsAResultLikeThatOfALoop) {
  auto solve = [](const Array& t1, bool throws) {
    return diffeqsolve(ODETerm{lorenz}, Tsit5{}, 0., t1, 0.01, start, {.max_steps = 50, .throw_ = throws});
  };
  auto whole = jit([=](const Array& t1) { return solve(t1, false); });
  for (auto [t1, code, steps] : {std::tuple{0.3, 0, 30}, {0.5, 0, 50}, {0.51, 1, 50}, {9., 1, 50}}) {
    auto sol = whole(array(t1));
    EXPECT_EQ(sol.result.item<std::int64_t>(), code);
    EXPECT_EQ(sol.stats.num_steps.item<std::int64_t>(), steps);
  }
  EXPECT_EQ(static_cast<int>(SolveResult::MaxStepsReached), static_cast<int>(LoopResult::MaxStepsReached));
  EXPECT_THROW(solve(9., true), Error);
  EXPECT_THROW(jit(grad([=](const Array& t1) { return sum(solve(t1, true).ys); }))(array(9.)), Error);
  // Under vmap each lane has its own result; none that failed is lost among those that did not.
  auto lanes = jit(vmap([=](const Array& t1) { return solve(t1, false).result; }));
  EXPECT_EQ(to_string(lanes(array({0.3, 9., 0.51, 0.1}))), "[0 1 1 0]");
  auto throwing = jit(vmap([=](const Array& t1) { return solve(t1, true).ys; }));
  try {
    throwing(array({0.3, 9., 0.51, 0.1}));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.id(), "max_steps_reached");
  }
}

}  // namespace
}  // namespace apsis::testing
