// Events: where they occur, what they change, and derivatives through their times.

#include <cmath>

#include "diffeq/any_solver.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

struct Ball {
  Array height, speed;
};
struct Falling {
  Array gravity;
  Ball operator()(const Array&, const Ball& y) const {
    return {.height = y.speed, .speed = -gravity + 0. * y.height};
  }
};
const auto height = [](const Array&, const Ball& y) { return y.height; };
const auto bounce = [](const Array&, const Ball& y) {
  return Ball{.height = y.height, .speed = -0.8 * y.speed};
};
const PIDController adaptive{.rtol = 1e-8, .atol = 1e-10};
double number(const Array& a) { return a.item<double>(); }

/// The time of impact of a ball that is dropped at rest.
Array impact(const Array& from, const Array& gravity) {
  return diffeqsolve(ODETerm{Falling{gravity}}, Tsit5{}, 0., 10., 0.1, Ball{from, 0. * from},
                     {.controller = adaptive, .events = {Event{height}}})
      .ts[-1];
}

// h(t) = h0 - g t² / 2 is 0 at t = √(2 h0 / g), with the derivatives t / (2 h0) and -t / (2 g). Steps are
// exact for quadratics, so all of it is up to rounding.
TEST(Events, TheTimeOfAnImpactAndItsDerivativesAreExact) {
  const double h0 = 10., g = 9.81, t = std::sqrt(2 * h0 / g);
  EXPECT_NEAR(number(impact(h0, g)), t, 4e-15);
  EXPECT_NEAR(number(jit([](const Array& a, const Array& b) { return impact(a, b); })(array(h0), array(g))),
              t, 4e-15);
  const auto by_height = [&](const Array& x) { return impact(x, g); };
  const auto by_gravity = [&](const Array& x) { return impact(h0, x); };
  for (const Array& d :
       {grad(by_height)(array(h0)), jit(grad(by_height))(array(h0)), jit(jacfwd(by_height))(array(h0))})
    EXPECT_NEAR(number(d), t / (2 * h0), 1e-12);
  for (const Array& d :
       {grad(by_gravity)(array(g)), jit(grad(by_gravity))(array(g)), jit(jacfwd(by_gravity))(array(g))})
    EXPECT_NEAR(number(d), -t / (2 * g), 1e-12);
  // d²t / dh0² = -t / (4 h0²)
  EXPECT_NEAR(number(jit(grad(grad(by_height)))(array(h0))), -t / (4 * h0 * h0), 1e-12);
  EXPECT_NEAR(number(jit(jacfwd(grad(by_height)))(array(h0))), -t / (4 * h0 * h0), 1e-12);
}

TEST(Events, OfLanesAreThoseOfSingleSolves) {
  const Array from = array({1., 5., 20., 0.1});
  const auto one = [](const Array& x) { return impact(x, 9.81); };
  const Array many = jit(vmap(one))(from), slopes = jit(vmap(grad(one)))(from);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(number(many[i]), number(jit(one)(from[i])));
    const double h = number(from[i]);
    EXPECT_NEAR(number(slopes[i]), std::sqrt(2 * h / 9.81) / (2 * h), 1e-12);
  }
}

/// The end of a solve with one event.
auto ends(const Event& event, const SolveOptions& options = {.controller = adaptive}, double t0 = 0.,
          double t1 = 10., const Array& y0 = array({1., 0.}), const Array& dt0 = {}) {
  SolveOptions o = options;
  o.events = {event};
  const auto field = [](const Array&, const Array& y) { return stack({y[1], -y[0]}); };  // cos t
  return diffeqsolve(ODETerm{field}, Tsit5{}, t0, t1, dt0, y0, o);
}

TEST(Events, CountByDirection) {
  const auto position = [](const Array&, const Array& y) { return y[0]; };
  const double pi = std::acos(-1.);
  EXPECT_NEAR(number(ends(Event{position}).ts[0]), pi / 2, 1e-7);
  EXPECT_NEAR(number(ends(Event{.condition = position, .direction = Crossing::Down}).ts[0]), pi / 2, 1e-7);
  EXPECT_NEAR(number(ends(Event{.condition = position, .direction = Crossing::Up}).ts[0]), 3 * pi / 2, 1e-7);
  EXPECT_NEAR(number(ends(Event{.condition = position, .stop_after = 3}).ts[0]), 5 * pi / 2, 1e-7);
  // Back in time, along the solve.
  EXPECT_NEAR(
      number(ends(Event{.condition = position, .direction = Crossing::Up}, {.controller = adaptive}, 0., -10.)
                 .ts[0]),
      -3 * pi / 2, 1e-7);
}

TEST(Events, SayHowTheSolveEnded) {
  const auto never = [](const Array&, const Array& y) { return y[0] - 2.; };
  const auto position = [](const Array&, const Array& y) { return y[0]; };
  const auto without = ends(Event{never});
  EXPECT_TRUE(is_successful(without.result).item<bool>());
  EXPECT_FALSE(any(without.events.mask).item<bool>());
  const auto with = ends(Event{position});
  EXPECT_TRUE(is_event(with.result).item<bool>());
  EXPECT_TRUE(is_okay(with.result).item<bool>());
  EXPECT_FALSE(is_successful(with.result).item<bool>());
  EXPECT_TRUE(with.events.mask[0].item<bool>());
  EXPECT_EQ(with.events.counts[0].item<std::int64_t>(), 1);
}

// One long step covers several crossings; the interpolant has them.
TEST(Events, TwoInOneStepAreSeenAndTheFirstCounts) {
  // The parabola 1 - 4 t (1 - t) * 1.01 is below 0 for a moment around 1/2.
  const auto field = [](const Array& t, const Array& y) { return 1.01 * 4. * (2. * t - 1.) + 0. * y; };
  const auto value = [](const Array&, const Array& y) { return y; };
  const auto at = [&](Crossing direction, const auto& solver) {
    return number(diffeqsolve(ODETerm{field}, solver, 0., 1., 1., array(1.),
                              {.events = {Event{.condition = value, .direction = direction}}})
                      .ts[0]);
  };
  const double off = 0.5 * std::sqrt(1 - 1 / 1.01);
  // Weights of dense output are up to 50, so that its rounding is some 50 ULP of the step's slopes.
  EXPECT_NEAR(at(Crossing::Either, Tsit5{}), 0.5 - off, 1e-13);
  EXPECT_NEAR(at(Crossing::Down, Tsit5{}), 0.5 - off, 1e-13);
  EXPECT_NEAR(at(Crossing::Up, Tsit5{}), 0.5 + off, 1e-13);
  EXPECT_NEAR(at(Crossing::Up, Dopri5{}), 0.5 + off, 1e-13);
}

TEST(Events, TheFirstOfSeveralEndsTheSolve) {
  const auto field = [](const Array&, const Array& y) { return ones_like(y); };
  const auto at = [](double level) {
    return Event{[level](const Array&, const Array& y) { return y - level; }};
  };
  const auto sol =
      diffeqsolve(ODETerm{field}, Tsit5{}, 0., 4., 4., array(0.), {.events = {at(3.), at(1.5), at(2.)}});
  EXPECT_NEAR(number(sol.ts[0]), 1.5, 1e-14);
  EXPECT_TRUE(all(sol.events.mask == (arange(3) == 1)).item<bool>());
}

TEST(Events, AZeroAtTheStartIsNone) {
  const auto position = [](const Array&, const Array& y) { return y[0]; };
  const double pi = std::acos(-1.);
  // sin t, from 0 up and from 0 down
  for (double sign : {1., -1.})
    EXPECT_NEAR(number(ends(Event{position}, {.controller = adaptive}, 0., 10., array({0., sign})).ts[0]), pi,
                1e-7);
  // Within the first step, which is longer than the flight.
  const auto sol =
      diffeqsolve(ODETerm{Falling{10.}}, Tsit5{}, 0., 4., 4., Ball{0., 1.}, {.events = {Event{height}}});
  EXPECT_NEAR(number(sol.ts[0]), 0.2, 1e-13);
}

TEST(Events, OfBooleansOccurWhereTheyBecomeTrue) {
  const auto late = [](const Array& t, const Array&) { return t >= 2.; };
  EXPECT_NEAR(number(ends(Event{late}).ts[0]), 2., 1e-15);
  const auto always = [](const Array& t, const Array&) { return t > -1.; };
  const auto at_once = ends(Event{always});
  EXPECT_EQ(number(at_once.ts[0]), 0.);
  EXPECT_EQ(number(at_once.ys[0][0]), 1.);
  const auto time = [&](const Array& limit) {
    return ends(Event{[limit](const Array& t, const Array&) { return t >= limit; }}).ts[0];
  };
  EXPECT_EQ(number(grad(time)(array(2.))), 0.);
}

// Each flight is 0.8 times as long as the one before: t_n = t_1 (1 + 2 (0.8 + … + 0.8^n)).
TEST(Events, ABallBouncesAtItsTimes) {
  const double h0 = 1., g = 9.81, first = std::sqrt(2 * h0 / g);
  const auto run = [&](const Array& from) {
    return diffeqsolve(
        ODETerm{Falling{g}}, Tsit5{}, 0., 10., {}, Ball{from, 0.},
        {.controller = adaptive,
         .saveat = {.t1 = true, .events = 12},
         .events = {
             Event{.condition = height, .direction = Crossing::Down, .change = bounce, .stop_after = 10}}});
  };
  const auto sol = jit(run)(array(h0));
  double t = first, flight = 2 * first;
  // Steps are up to 10 long, and what rounding of dense output there is, is that of g h² = 1000.
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(number(sol.events.ts[i]), t, 1e-11) << i;
    EXPECT_EQ(sol.events.which[i].item<std::int64_t>(), 0);
    EXPECT_NEAR(number(sol.events.ys.height[i]), 0., 1e-11);
    EXPECT_NEAR(number(sol.events.ys.speed[i]), -g * first * std::pow(0.8, static_cast<double>(i)), 1e-10);
    flight *= 0.8;
    t += flight;
  }
  EXPECT_EQ(number(sol.events.ts[10]), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sol.events.which[10].item<std::int64_t>(), -1);
  EXPECT_EQ(sol.result.item<std::int64_t>(), static_cast<std::int64_t>(SolveResult::EventOccurred));
  // The times are as √h0, so that each has the derivative t / (2 h0).
  const auto last = [&](const Array& from) { return run(from).ts[-1]; };
  EXPECT_NEAR(number(jit(grad(last))(array(h0))), number(last(array(h0))) / 2, 1e-10);
  EXPECT_NEAR(number(jit(jacfwd(last))(array(h0))), number(last(array(h0))) / 2, 1e-10);
  const auto each = jit(vmap(last))(array({0.5, 1., 2.}));
  for (std::int64_t i = 0; i < 3; ++i)
    EXPECT_NEAR(number(each[i]),
                number(last(array(h0))) * std::sqrt(0.5 * std::pow(2., static_cast<double>(i))), 1e-10);
}

TEST(Events, ABallThatComesToRestIsToldOf) {
  const auto run = [&] {
    diffeqsolve(ODETerm{Falling{9.81}}, Tsit5{}, 0., 10., {}, Ball{1., 0.},
                {.controller = adaptive,
                 .events = {Event{.condition = height, .direction = Crossing::Down, .change = bounce}}});
  };
  try {
    run();
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.id()), "event_accumulates") << e.what();
  }
}

// A dose every 6 hours, at times that no step would meet; between them exp(-k t).
TEST(Events, DosesAreGivenAtTheirTimes) {
  const double k = 0.3, period = 6., dose = 2.;
  const auto field = [](const Array& rate) {
    return [rate](const Array&, const Array& y) { return -rate * y; };
  };
  const auto clock = [](const Array& t, const Array&) { return sin(std::acos(-1.) / 6. * t); };
  const auto give = [](const Array& amount) {
    return [amount](const Array&, const Array& y) { return y + amount; };
  };
  const auto run = [&](const Array& rate, const Array& amount, const auto& solver) {
    return diffeqsolve(ODETerm{field(rate)}, solver, 0., 20., 0.5, amount,
                       {.controller = PIDController{.rtol = 1e-10, .atol = 1e-12},
                        .events = {Event{.condition = clock, .change = give(amount)}}});
  };
  double exact = 0, by_rate = 0;
  for (double t : {0., period, 2 * period, 3 * period}) {
    exact += dose * std::exp(-k * (20 - t));
    by_rate -= dose * (20 - t) * std::exp(-k * (20 - t));
  }
  const auto sol = run(k, dose, Tsit5{});
  EXPECT_NEAR(number(sol.ys[0]), exact, 1e-9);
  EXPECT_EQ(sol.events.counts[0].item<std::int64_t>(), 3);
  EXPECT_NEAR(number(run(k, dose, Rodas5P{}).ys[0]), exact, 1e-8);
  EXPECT_NEAR(number(run(k, dose, Kvaerno5{}).ys[0]), exact, 1e-7);
  const auto end = [&](const Array& rate) { return run(rate, dose, Tsit5{}).ys[0]; };
  EXPECT_NEAR(number(jit(grad(end))(array(k))), by_rate, 1e-8);
  const auto by_dose = [&](const Array& amount) { return run(k, amount, Tsit5{}).ys[0]; };
  EXPECT_NEAR(number(jit(grad(by_dose))(array(dose))), exact / dose, 1e-9);
}

// A leaky neuron that fires at 1 and begins again at 0: v' = 2 - v reaches 1 after ln 2.
TEST(Events, ANeuronFires) {
  const auto field = [](const Array&, const Array& v) { return 2. - v; };
  const auto threshold = [](const Array&, const Array& v) { return v - 1.; };
  const auto reset = [](const Array&, const Array& v) { return 0. * v; };
  const auto sol =
      diffeqsolve(ODETerm{field}, Tsit5{}, 0., 5., {}, array(0.),
                  {.controller = PIDController{.rtol = 1e-10, .atol = 1e-12},
                   .saveat = {.events = 10},
                   .events = {Event{.condition = threshold, .direction = Crossing::Up, .change = reset}}});
  EXPECT_EQ(sol.events.counts[0].item<std::int64_t>(), 7);
  for (std::int64_t i = 0; i < 7; ++i)
    EXPECT_NEAR(number(sol.events.ts[i]), std::log(2.) * static_cast<double>(i + 1), 1e-8);
}

// Occurrences without a change are noted, several in a step, and the steps are those without events.
TEST(Events, ThatAreOnlyNotedLeaveTheSolveAsItIs) {
  const auto position = [](const Array&, const Array& y) { return y[0]; };
  const auto sol = ends(Event{.condition = position, .stop_after = 0},
                        {.controller = adaptive, .saveat = {.t1 = true, .events = 5}});
  const auto plain = ends(Event{.condition = [](const Array&, const Array& y) { return y[0] - 3.; }});
  EXPECT_EQ(number(sol.ys[-1][0]), number(plain.ys[-1][0]));
  const double pi = std::acos(-1.);
  for (std::int64_t i = 0; i < 3; ++i)
    EXPECT_NEAR(number(sol.events.ts[i]), pi * (0.5 + static_cast<double>(i)), 1e-7);
  EXPECT_EQ(number(sol.events.ts[3]), std::numeric_limits<double>::infinity());
}

// Two doses at the same time are both given.
TEST(Events, ThatOccurAtOnceAllOccur) {
  const auto field = [](const Array&, const Array& y) { return 0. * y; };
  const auto late = [](const Array& t, const Array&) { return t - 0.3; };
  const auto later = [](const Array& t, const Array&) { return t >= 0.3; };
  const auto add = [](double amount) {
    return [amount](const Array&, const Array& y) { return y + amount; };
  };
  const auto sol = diffeqsolve(ODETerm{field}, Tsit5{}, 0., 1., 0.25, array(0.),
                               {.events = {{.condition = late, .change = add(1.)},
                                           {.condition = late, .change = add(10.)},
                                           {.condition = later, .change = add(100.)}}});
  EXPECT_EQ(number(sol.ys[0]), 111.);
}

/// A pendulum that hits a wall at angle 0.3, with steps of one length: from its start to the end.
Array swung(const Array& y0) {
  const auto field = [](const Array& t, const Array& y) { return stack({y[1], -sin(y[0]) + 0.1 * cos(t)}); };
  const auto wall = [](const Array&, const Array& y) { return y[0] - 0.3; };
  const auto back = [](const Array& t, const Array& y) {
    return stack({y[0], (-0.7 - 0.1 * sin(t)) * y[1]});
  };
  return diffeqsolve(ODETerm{field}, Tsit5{}, 0., 12., 0.1, y0,
                     {.events = {{.condition = wall, .direction = Crossing::Up, .change = back}}})
      .ys[-1];
}

TEST(Events, GradientsThroughChangesAreThoseOfTheSteps) {
  const auto loss = [](const Array& y) {
    const Array end = swung(y);
    return sum(end * end * array({1., 3.}));
  };
  const Array at = array({-0.5, 0.1});
  const Array by_reverse = jit(grad(loss))(at), by_forward = jit(jacfwd(loss))(at);
  const auto value = jit(loss);
  for (std::int64_t i = 0; i < 2; ++i) {
    // Central differences: h² times a third derivative, and rounding / h.
    const double h = 1e-5;
    const Array step = h * (arange(2) == i);
    const double difference = (number(value(at + step)) - number(value(at - step))) / (2 * h);
    EXPECT_NEAR(number(by_reverse[i]), difference, 1e-6 * (1 + std::abs(difference)));
    EXPECT_NEAR(number(by_forward[i]), number(by_reverse[i]), 1e-10 * (1 + std::abs(difference)));
  }
  const Array starts = stack({at, 2. * at, 0.5 * at, 0. * at});
  const Array many = jit(vmap(swung))(starts);
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_TRUE(all(many[i] == jit(swung)(starts[i])).item<bool>()) << "lane " << i;
}

// What is saved: times up to the event; where the state jumps, that before.
TEST(Events, SavedTimesEndWithTheSolve) {
  const auto late = [](const Array& t, const Array&) { return t - 2.5; };
  const auto sol = ends(Event{late}, {.controller = adaptive, .saveat = {.ts = {1., 2., 3.}, .t1 = true}});
  EXPECT_NEAR(number(sol.ys[1][0]), std::cos(2.), 1e-7);
  EXPECT_EQ(number(sol.ts[2]), std::numeric_limits<double>::infinity());
  EXPECT_EQ(number(sol.ys[2][0]), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(number(sol.ts[3]), 2.5, 1e-15);
  const auto twice = [](const Array&, const Array& y) { return 2. * y; };
  const auto on =
      ends(Event{.condition = late, .change = twice}, {.controller = adaptive, .saveat = {.ts = {2., 3.}}});
  EXPECT_NEAR(number(on.ys[0][0]), std::cos(2.), 1e-7);
  EXPECT_NEAR(number(on.ys[1][0]), 2 * std::cos(3.), 1e-6);
}

// Steps that a user prescribes are met in spite of changes between them.
TEST(Events, PrescribedStepsAreKept) {
  const auto late = [](const Array& t, const Array&) { return t - 0.7; };
  const auto same = [](const Array&, const Array& y) { return y; };
  const auto sol =
      ends(Event{.condition = late, .change = same},
           {.controller = StepTo{{0., 0.5, 1., 2.}}, .saveat = {.steps = 1}, .max_steps = 8}, 0., 2.);
  const double expected[] = {0.5, 0.7, 1., 2.};
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_NEAR(number(sol.ts[i]), expected[i], 1e-15);
}

TEST(Events, ASteadyStateEndsTheSolve) {
  const auto field = [](const Array&, const Array& y) { return 1. - y; };
  const auto sol =
      diffeqsolve(ODETerm{field}, Tsit5{}, 0., 1e6, {}, array({0., 3.}),
                  {.controller = adaptive, .events = {Event{SteadyState{.rtol = 1e-6, .atol = 1e-6}}}});
  EXPECT_TRUE(is_event(sol.result).item<bool>());
  EXPECT_LT(max(abs(sol.ys[-1] - 1.)).item<double>(), 4e-6);
  const auto implicit = diffeqsolve(ODETerm{field}, Rodas5P{}, 0., 1e6, {}, array({0., 3.}),
                                    {.controller = adaptive, .events = {Event{SteadyState{}}}});
  EXPECT_TRUE(is_event(implicit.result).item<bool>());
}

TEST(Events, OfEverySolver) {
  const auto field = [](const Array&, const Array& y) { return stack({y[1], -y[0]}); };
  const auto position = [](const Array&, const Array& y) { return y[0]; };
  const auto turn = [](const Array&, const Array& y) { return stack({y[0], -0.5 * y[1]}); };
  for (const Named& s : whole_solvers({.rtol = 1e-10, .atol = 1e-10, .max_steps = 50})) {
    SCOPED_TRACE(s.name);
    const auto run = [&](const Array& y0) {
      const auto sol =
          diffeqsolve(ODETerm{field}, s.solver, 0., 5., 0.01, y0,
                      {.saveat = {.events = 2}, .events = {Event{.condition = position, .change = turn}}});
      return concatenate({sol.events.ts, sol.ys[-1]});
    };
    const Array found = jit(run)(array({1., 0.}));
    // Of order 1 with steps of 0.01: off by some hundredths.
    const double bound = s.solver.traits().order == 1 ? 0.1 : 1e-3, pi = std::acos(-1.);
    EXPECT_NEAR(number(found[0]), pi / 2, bound);
    EXPECT_NEAR(number(found[1]), 3 * pi / 2, bound);
    const auto single = diffeqsolve(ODETerm{field}, s.solver, 0., 5., 0.01,
                                    astype(array({1., 0.}), Dtype::F32), {.events = {Event{position}}});
    EXPECT_EQ(single.ts.dtype(), Dtype::F32);
    EXPECT_NEAR(single.ts[0].item<float>(), pi / 2, 2 * bound);
  }
}

}  // namespace
}  // namespace apsis::testing
