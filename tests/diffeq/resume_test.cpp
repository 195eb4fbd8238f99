// Solves that go on where others ended: two halves are the whole, bit for bit.

#include <cmath>

#include "diffeq/any_solver.hpp"
#include "diffeq/refused.hpp"

namespace apsis::testing {
namespace {

constexpr double middle = 0.7, end = 2.;
const SaveAt both{.t1 = true, .solver_state = true, .controller_state = true};
const PIDController pid{.rtol = 1e-5, .atol = 1e-7, .pcoeff = 0.3, .icoeff = 0.4, .dcoeff = 0.05};
const NewtonOptions tight{.rtol = 1e-8, .atol = 1e-10};

// Van der Pol's equation, a little stiff.
struct Oscillator {
  Array mu;
  Array operator()(const Array& t, const Array& y) const {
    return stack({y[1], mu * (1. - y[0] * y[0]) * y[1] - y[0] + 0.1 * sin(t)});
  }
};
const Array start = array({2., 0.});

struct End {
  Array y, steps;
};
/// At once, with a step that ends in the middle.
End whole(const auto& term, const auto& solver, const Array& dt0, const Controller& controller,
          const auto& y0, double from = 0., double to = end) {
  const auto sol = diffeqsolve(
      term, solver, from, to, dt0, y0,
      {.controller = ClipStepSizeController{.controller = controller, .step_ts = array({middle})}});
  return {sol.ys, sol.stats.num_steps};
}
End in_halves(const auto& term, const auto& solver, const Array& dt0, const Controller& controller,
              const auto& y0, double from = 0., double to = end) {
  const auto first =
      diffeqsolve(term, solver, from, middle, dt0, y0, {.controller = controller, .saveat = both});
  const auto second = diffeqsolve(term, solver, middle, to, {}, Array(first.ys[-1]),
                                  {.controller = controller,
                                   .solver_state = first.solver_state,
                                   .controller_state = first.controller_state});
  return {second.ys, first.stats.num_steps + second.stats.num_steps};
}

TEST(Resume, TwoHalvesAreTheWholeByEverySolver) {
  for (Array mu : {array(1.5), array(1.5f)})
    for (const Named& n : whole_solvers(tight)) {
      if (mu.dtype() == f32 && n.name != "tsit5" && n.name != "kvaerno5" && n.name != "ndf2") continue;
      SCOPED_TRACE(n.name + " " + to_string(mu.dtype()));
      const bool adaptive = n.solver.traits().error_order > 0 && mu.dtype() == f64;
      const Controller controller = adaptive ? Controller(pid) : Controller(ConstantStepSize{});
      const Array dt0 = adaptive ? Array() : array(0.03);
      const ODETerm term{Oscillator{mu}};
      const Array y0 = astype(start, mu.dtype());
      const End one = whole(term, n.solver, dt0, controller, y0),
                two = in_halves(term, n.solver, dt0, controller, y0);
      EXPECT_EQ(one.steps.item<int>(), two.steps.item<int>());
      expect_same_bits(two.y, one.y);
    }
}

TEST(Resume, BackInTimeAndCompiled) {
  for (const Named& n : whole_solvers(tight)) {
    if (n.name != "tsit5" && n.name != "kvaerno5" && n.name != "ndf2") continue;
    SCOPED_TRACE(n.name);
    const auto halves = [&](const Array& mu) {
      return in_halves(ODETerm{Oscillator{mu}}, n.solver, {}, pid, start, 1.5, -0.2);
    };
    const auto once = [&](const Array& mu) {
      return whole(ODETerm{Oscillator{mu}}, n.solver, {}, pid, start, 1.5, -0.2);
    };
    const Array mu = array(0.5);
    expect_same_bits(halves(mu), once(mu));
    expect_same_bits(jit(halves)(mu), jit(once)(mu));
    const Array many = array({0.5, 0.1, 1.});
    expect_same_bits(jit(vmap(halves))(many), jit(vmap(once))(many));
    // Derivatives go through what the solver keeps.
    const auto loss = [](const auto& run) {
      return [&run](const Array& m) { return sum(square(run(m).y)); };
    };
    expect_near(jit(grad(loss(halves)))(mu), jit(grad(loss(once)))(mu), 1e-12);
    expect_near(jit(jacfwd(loss(halves)))(mu), jit(jacfwd(loss(once)))(mu), 1e-12);
  }
}

TEST(Resume, SplitAndPartitionedEquations) {
  const auto slow = [](const Array& t, const Array& y) { return stack({y[1], 0.1 * sin(t) + 0. * y[0]}); };
  const auto fast = [](const Array&, const Array& y) { return stack({0. * y[0], -20. * y[1] - y[0]}); };
  const MultiTerm split{ODETerm{slow}, ODETerm{fast}};
  for (const auto& [name, solver] : split_solvers(tight)) {
    SCOPED_TRACE(name);
    const bool adaptive = solver.traits().error_order > 0;
    const Controller controller = adaptive ? Controller(pid) : Controller(ConstantStepSize{});
    const Array dt0 = adaptive ? Array() : array(0.03);
    expect_same_bits(in_halves(split, solver, dt0, controller, start),
                     whole(split, solver, dt0, controller, start));
  }
  // A pair of terms on a pair of states.
  const auto drift = [](const Array&, const Array& p) { return p; };
  const auto force = [](const Array&, const Array& q) { return -q; };
  const std::pair terms{ODETerm{drift}, ODETerm{force}};
  const std::pair y0{array({1., 0.}), array({0., 1.})};
  for (const auto& [name, solver] : partitioned_solvers()) {
    SCOPED_TRACE(name);
    const auto first = diffeqsolve(terms, solver, 0., middle, 0.07, y0, {.saveat = both});
    const auto row = [](const Array& a) { return Array(a[-1]); };
    const auto second =
        diffeqsolve(terms, solver, middle, 1.4, {}, std::pair{row(first.ys.first), row(first.ys.second)},
                    {.solver_state = first.solver_state, .controller_state = first.controller_state});
    const auto one = diffeqsolve(
        terms, solver, 0., 1.4, 0.07, y0,
        {.controller = ClipStepSizeController{.controller = ConstantStepSize{}, .step_ts = array({middle})}});
    expect_same_bits(second.ys, one.ys);
  }
}

// Paths whose increments are counted go on counting; algebraic equations are not solved again.
TEST(Resume, NoiseAndAlgebraicEquations) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  const auto noise = [](const Array&, const Array& y) { return 0.3 * y; };
  const MultiTerm driven{ODETerm{decay}, ControlTerm{noise, UnsafeBrownianPath(Shape{}, random::key(3))}};
  const Array one = array(1.);
  expect_same_bits(in_halves(driven, EulerHeun{}, 0.07, ConstantStepSize{}, one),
                   whole(driven, EulerHeun{}, 0.07, ConstantStepSize{}, one));

  const auto circuit = [](const Array& t, const Array& y) {
    return stack({y[1], y[0] + tanh(y[1]) - sin(3. * t)});
  };
  for (const auto& [name, solver] :
       {std::pair("rodas5p", any<Whole>(Rodas5P{})), std::pair("radau5", any<Whole>(Radau5{})),
        std::pair("bdf", any<Whole>(BackwardDifferences{}))}) {
    SCOPED_TRACE(name);
    const Array mass = array({1., 0.}), y0 = array({0.1, 0.});
    const auto all = diffeqsolve(
        ODETerm{circuit}, solver, 0., end, {}, y0,
        {.controller = ClipStepSizeController{.controller = pid, .step_ts = array({middle})}, .mass = mass});
    const auto first = diffeqsolve(ODETerm{circuit}, solver, 0., middle, {}, y0,
                                   {.controller = pid, .saveat = both, .mass = mass});
    const auto second = diffeqsolve(ODETerm{circuit}, solver, middle, end, {}, Array(first.ys[-1]),
                                    {.controller = pid,
                                     .mass = mass,
                                     .solver_state = first.solver_state,
                                     .controller_state = first.controller_state});
    expect_same_bits(second.ys, all.ys);
  }
}

// A solve that an event ended goes on from there, with the slope that belongs to the state there.
TEST(Resume, BehindAnEvent) {
  const auto fall = [](const Array&, const Array& y) { return stack({y[1], full_like(y[1], -9.81)}); };
  const SolveOptions until{.controller = pid,
                           .saveat = both,
                           .events = {Event{[](const Array&, const Array& y) { return y[0] - 1.; }}}};
  const auto first = diffeqsolve(ODETerm{fall}, Tsit5{}, 0., 2., {}, array({5., 0.}), until);
  ASSERT_TRUE(is_event(first.result).item<bool>());
  const auto second = diffeqsolve(
      ODETerm{fall}, Tsit5{}, first.ts[-1], 1., {}, Array(first.ys[-1]),
      {.controller = pid, .solver_state = first.solver_state, .controller_state = first.controller_state});
  EXPECT_NEAR(second.ys[-1][0].item<double>(), 5 - 9.81 / 2, 1e-6);
  EXPECT_NEAR(first.solver_state.own[0][0].item<double>(), Array(first.ys[-1])[1].item<double>(), 1e-12);
}

// Steps by hand are those of a solve but for rounding (ops run one by one), and either goes on from the
// other.
TEST(Resume, StepsByHand) {
  const ODETerm term{Oscillator{array(5.)}};
  const Tolerances tolerances{1e-6, 1e-8};
  for (const Named& n : whole_solvers(tight)) {
    SCOPED_TRACE(n.name);
    const auto all = diffeqsolve(term, n.solver, 0., 1., 0.125, start);
    auto now = solver_start(term, n.solver, 0., start);
    for (int i = 0; i < 4; ++i) now = solver_step(term, n.solver, now, now.t + 0.125, tolerances).next;
    const auto rest = diffeqsolve(term, n.solver, now.t, 1., 0.125, now.y,
                                  {.solver_state = {.direction = 1., .own = now.own}});
    expect_near(rest.ys, all.ys);
    const auto half = diffeqsolve(term, n.solver, 0., 0.5, 0.125, start, {.saveat = both});
    SolverState<Array> on{half.ts[-1], half.ys[-1], half.solver_state.own};
    for (int i = 0; i < 4; ++i) on = solver_step(term, n.solver, on, on.t + 0.125, tolerances).next;
    expect_near(on.y, Array(all.ys[-1]));
  }
}

TEST(Resume, Misuse) {
  const ODETerm term{Oscillator{array(5.)}};
  const auto first = diffeqsolve(term, Tsit5{}, 0., 1., {}, start, {.controller = pid, .saveat = both});
  const Array y = first.ys[-1];
  const auto id = [&](const auto& solver, double t1, const Array& dt0, SolveOptions options) {
    return error_of_call([&] { (void)diffeqsolve(term, solver, 1., t1, dt0, y, options); });
  };
  EXPECT_EQ(id(Radau5{}, 2., {}, {.controller = pid, .solver_state = first.solver_state}), "memory_mismatch");
  EXPECT_EQ(id(Tsit5{}, 2., {},
               {.controller = PIDController{.rtol = 1e-5, .atol = 1e-7},
                .controller_state = first.controller_state}),
            "memory_mismatch");
  EXPECT_EQ(id(Tsit5{}, 2., 0.1, {.controller = pid, .controller_state = first.controller_state}),
            "memory_and_first_step");
  EXPECT_EQ(id(Tsit5{}, 2., {}, {.controller = StepTo{{1., 2.}}, .controller_state = first.controller_state}),
            "memory_of_step_to");
  EXPECT_EQ(id(Tsit5{}, 0., {}, {.controller = pid, .solver_state = first.solver_state}), "memory_turned");
  EXPECT_EQ(id(Tsit5{}, 0., {}, {.controller = pid, .controller_state = first.controller_state}),
            "memory_turned");
  EXPECT_EQ(
      id(Tsit5{}, 2., 0.1, {.solver_state = {.direction = 1., .own = first.solver_state.own, .paths = {{}}}}),
      "memory_of_paths");
}

}  // namespace
}  // namespace apsis::testing
