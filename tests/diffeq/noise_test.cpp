// Stochastic solvers: their strong and weak orders by regression, gradients, steps that are rejected.

#include <cmath>

#include "diffeq/any_solver.hpp"
#include "diffeq/regression.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

enum class Kind { Additive, Commutative, General };

/// The end of a solve by steps of length h along the path of a key. The drift is that of a pendulum with
/// friction. Commutative noise is diagonal, each element's of itself; general noise is of three motions. What
/// a claim is about is the greatest part of the errors.
Array ended(const Whole& solver, Kind kind, const Array& key, const Array& h, std::int64_t finest) {
  const double pull = kind == Kind::General ? 0.5 : 1.;
  const auto drift = [pull](const Array&, const Array& y) {
    return stack({y[1], -pull * sin(2. * y[0]) - 0.2 * y[1]});
  };
  const VirtualBrownianTree path(0., 1., 0.99 / static_cast<double>(finest), {kind == Kind::General ? 3 : 2},
                                 key, {.levy_area = LevyArea::SpaceTime});
  const auto solve = [&](const auto& field) {
    return diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{field, path}}, solver, 0., 1., h,
                       array({1., 0.5}), {.max_steps = -1})
        .ys[-1];
  };
  if (kind == Kind::Additive)
    return solve([](const Array& t, const Array&) {
      return stack({stack({0.8 + 0. * t, 0.2 * cos(t)}), stack({0.4 * t, 1. + 0. * t})});
    });
  if (kind == Kind::Commutative)
    return solve([](const Array&, const Array& y) {
      return Diagonal{stack({0.5 * sqrt(1. + y[0] * y[0]), 0.4 * cos(y[1])})};
    });
  return solve([](const Array&, const Array& y) {
    return stack({stack({0.7 * y[1], 0.55, 0.3 * y[0]}), stack({0.4 * y[0], 0.7 * cos(y[0]), 0.4})});
  });
}

/// Root mean square errors at 1 of 8, 16, …, against a fine solve along the same paths.
std::vector<double> strong_errors(const Whole& solver, Kind kind, std::int64_t paths, std::int64_t finest) {
  const Array keys = random::split(random::key(17), paths);
  const auto by_steps = jit([&](const Array& h) {
    return vmap([&](const Array& key) { return ended(solver, kind, key, h, finest); })(keys);
  });
  const auto all = [&](std::int64_t steps) { return by_steps(array(1. / static_cast<double>(steps))); };
  const Array exact = all(finest);
  std::vector<double> errors;
  for (std::int64_t steps = 8; steps <= finest / 16; steps *= 2) {
    const Array off = all(steps) - exact;
    errors.push_back(std::sqrt(mean(sum(off * off, {.axis = 1})).item<double>()));
  }
  return errors;
}

struct Claim {
  const char* name;
  Kind kind;
  double order;
};
constexpr Claim claims[] = {
    {"euler", Kind::Commutative, 0.5},
    {"euler", Kind::Additive, 1.},
    {"heun", Kind::Commutative, 1.},
    {"heun", Kind::General, 0.5},
    {"midpoint", Kind::Commutative, 1.},
    {"midpoint", Kind::General, 0.5},
    {"ralston", Kind::Commutative, 1.},
    {"ralston", Kind::General, 0.5},
    {"reversible_heun", Kind::Additive, 1.},
    {"reversible_heun", Kind::General, 0.5},
    {"half_heun", Kind::Commutative, 1.},
    {"half_heun", Kind::General, 0.5},
    {"half_milstein", Kind::Commutative, 1.},
    {"euler_heun", Kind::Commutative, 1.},
    {"euler_heun", Kind::General, 0.5},
    {"ito_milstein", Kind::Commutative, 1.},
    {"stratonovich_milstein", Kind::Commutative, 1.},
    {"sea", Kind::Additive, 1.},
    {"sra1", Kind::Additive, 1.5},
    {"shark", Kind::Additive, 1.5},
    {"general_shark", Kind::Additive, 1.5},
    {"general_shark", Kind::Commutative, 1.},
    {"general_shark", Kind::General, 0.5},
    {"slow_rk", Kind::Commutative, 1.5},
    {"spark", Kind::Additive, 1.5},
    {"spark", Kind::Commutative, 1.},
    {"spark", Kind::General, 0.5},
};

void expect_strong_orders(std::int64_t paths, std::int64_t finest) {
  for (const Claim& claim : claims)
    for (const Stochastic& s : stochastic_solvers()) {
      if (s.name != claim.name) continue;
      const std::vector<double> errors = strong_errors(s.solver, claim.kind, paths, finest);
      EXPECT_NEAR(slope_of(errors), claim.order, 0.15)
          << s.name << " of kind " << static_cast<int>(claim.kind) << ", errors "
          << ::testing::PrintToString(errors);
    }
}
// With so many paths the error of an order is about 0.05: the same paths are behind all lengths of steps.
TEST(Noise, StrongOrders) { expect_strong_orders(200, 1024); }
TEST(NoiseSlow, StrongOrdersOfManyPaths) { expect_strong_orders(4000, 4096); }

/// dy = a y dt + b y dW in the solver's sense, y = 1 at first, and its solution along the same path.
struct Growth {
  double a, b;
  std::pair<Array, Array> ends(const Whole& solver, const Array& key, const Array& h) const {
    const VirtualBrownianTree path(0., 1., 0.4 / 64, Shape{}, key);
    const auto drift = [a = a](const Array&, const Array& y) { return a * y; };
    const auto diffusion = [b = b](const Array&, const Array& y) { return b * y; };
    const auto sol =
        diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{diffusion, path}}, solver, 0., 1., h, 1.);
    const double ito = solver.traits().calculus == Calculus::Ito ? 0.5 * b * b : 0.;
    return {sol.ys[-1], exp(a - ito + b * path.evaluate(0., 1.))};
  }
};
// E f(y) with f = y²: the difference is taken along the same paths, so that few of them are enough.
// Of methods with Lévy areas: weak_order_test.
void expect_weak_order(std::int64_t paths) {
  const std::string claims =
      " euler ito_milstein stratonovich_milstein heun midpoint ralston euler_heun reversible_heun half_heun "
      "half_milstein ";
  for (const Stochastic& s : stochastic_solvers()) {
    if (claims.find(" " + s.name + " ") == std::string::npos) continue;
    // Such that the term of order 1 is the greatest: of the drift, where Euler's step makes it, or of the
    // noise.
    const Growth growth = s.solver.traits().calculus == Calculus::Ito ? Growth{1.5, 0.1} : Growth{0.1, 0.5};
    const auto off = jit([&](const Array& h, const Array& keys) {
      const auto one = [&](const Array& key) {
        const auto [y, exact] = growth.ends(s.solver, key, h);
        return y * y - exact * exact;
      };
      return mean(vmap(one)(keys));
    });
    const Array keys = random::split(random::key(4), paths);
    std::vector<double> errors;
    for (const double steps : {8., 16., 32., 64.})
      errors.push_back(std::abs(off(array(1. / steps), keys).item<double>()));
    EXPECT_NEAR(slope_of(errors), 1., 0.15) << s.name << " " << ::testing::PrintToString(errors);
  }
}
TEST(Noise, WeakOrder) { expect_weak_order(2000); }
TEST(NoiseSlow, WeakOrderOfManyPaths) { expect_weak_order(200'000); }

/// What a solver may be asked to solve.
Kind kind_of(const Whole& solver) {
  const NoiseKind noise = solver.traits().noise;
  return noise == NoiseKind::Additive      ? Kind::Additive
         : noise == NoiseKind::Commutative ? Kind::Commutative
                                           : Kind::General;
}

TEST(Noise, LanesEqualSingleSolves) {
  const Array keys = random::split(random::key(8), 5);
  for (const Stochastic& s : stochastic_solvers()) {
    const auto one = [&](const Array& key) { return ended(s.solver, kind_of(s.solver), key, 0.1, 10); };
    const Array many = jit(vmap(one))(keys);
    EXPECT_TRUE(all(many[3] == jit(one)(keys[3])).item<bool>()) << s.name;
  }
}

// Central differences of the same steps: off by h² times a third derivative of order 10, and rounding / h.
TEST(Noise, GradientsAreThoseOfTheSteps) {
  for (const Stochastic& s : stochastic_solvers()) {
    const Kind kind = kind_of(s.solver);
    const VirtualBrownianTree path(0., 1., 0.05, {2}, random::key(3), {.levy_area = LevyArea::SpaceTime});
    const auto loss = [&](const Array& x) {
      const auto drift = [x](const Array& t, const Array& y) {
        return stack({x[0] * y[1], cos(t) - y[0] * y[1]});
      };
      const auto solve = [&](const auto& field) {
        const Array y = diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{field, path}}, s.solver, 0., 1.,
                                    0.25, stack({x[1], x[2]}))
                            .ys[-1];
        return sum(y * y * array({1., 2.}));
      };
      if (kind == Kind::Additive)
        return solve([x](const Array& t, const Array&) { return Diagonal{stack({x[3] * t, x[3] * x[3]})}; });
      return solve([x](const Array&, const Array& y) {
        return Diagonal{stack({x[3] * sin(y[0]), 0.3 * y[1]})};
      });
    };
    const Array x = array({0.7, 0.4, -0.3, 0.6}), by_reverse = jit(grad(loss))(x),
                by_forward = jit(jacfwd(loss))(x);
    const auto value = jit(loss);
    for (std::int64_t i = 0; i < 4; ++i) {
      const double h = 1e-4;
      const Array e = h * (arange(4) == i);
      const Array up = value(x + e), down = value(x - e);
      const double difference = (up.item<double>() - down.item<double>()) / (2 * h);
      EXPECT_NEAR(by_reverse[i].item<double>(), difference, 1e-6) << s.name << " " << i;
      EXPECT_NEAR(by_forward[i].item<double>(), difference, 1e-6) << s.name << " " << i;
    }
  }
}

// What a solve remembers of its path changes nothing: steps by hand go down from the root each time.
TEST(Noise, StepsByHandAreThoseOfTheSolve) {
  const auto drift = [](const Array&, const Array& y) { return -y; };
  const auto diffusion = [](const Array&, const Array& y) { return Diagonal{0.3 * y}; };
  for (const Stochastic& s : stochastic_solvers()) {
    if (s.solver.traits().noise == NoiseKind::Additive) continue;
    const VirtualBrownianTree path(0., 1., 0.01, {2}, random::key(3), {.levy_area = LevyArea::SpaceTime});
    const MultiTerm term{ODETerm{drift}, ControlTerm{diffusion, path}};
    const auto whole = [&](const Array& y0) { return diffeqsolve(term, s.solver, 0., 1., 0.25, y0).ys[-1]; };
    const auto by_hand = [&](const Array& y0) {
      auto now = solver_start(term, s.solver, 0., y0);
      for (double t : {0.25, 0.5, 0.75, 1.}) now = solver_step(term, s.solver, now, t).next;
      return now.y;
    };
    const Array y0 = array({1., 2.});
    // Programs of other loops round products and sums in other places.
    EXPECT_LT(max(abs(jit(whole)(y0) - jit(by_hand)(y0))).item<double>(), 1e-14) << s.name;
  }
}

// Stratonovich equations may be run back along the same path: there and back is the start, up to the errors.
TEST(Noise, GoesBackAlongThePath) {
  for (const Stochastic& s : stochastic_solvers()) {
    if (s.solver.traits().calculus != Calculus::Stratonovich) continue;
    const VirtualBrownianTree path(0., 1., 1e-4, {2}, random::key(6), {.levy_area = LevyArea::SpaceTime});
    const auto drift = [](const Array&, const Array& y) { return stack({y[1], -sin(y[0])}); };
    const auto solve = [&](const auto& field) {
      const MultiTerm term{ODETerm{drift}, ControlTerm{field, path}};
      const auto there_and_back = [&](const Array& y0) {
        const Array there = diffeqsolve(term, s.solver, 0., 1., 0.001, y0).ys[-1];
        return diffeqsolve(term, s.solver, 1., 0., -0.001, there).ys[-1];
      };
      const Array y0 = array({1., 0.5});
      const Array distance = jit(there_and_back)(y0) - y0;
      return max(abs(distance)).item<double>();
    };
    const bool additive = s.solver.traits().noise == NoiseKind::Additive;
    const double off = additive ? solve([](const Array& t, const Array&) {
      return Diagonal{stack({0.3 * t, 0.4})};
    })
                                : solve([](const Array&, const Array& y) { return Diagonal{0.3 * y}; });
    EXPECT_LT(off, 0.01) << s.name;  // a thousand steps of order 1
  }
}

// Rejected steps are tried again along the same path: adaptive solves end where those of short steps do, and
// the closer the tighter the tolerance.
TEST(Noise, AdaptiveStepsFollowThePath) {
  const Array keys = random::split(random::key(12), 64);
  for (const char* name : {"heun", "spark", "half_heun", "half_milstein"})
    for (const Stochastic& s : stochastic_solvers()) {
      if (s.name != name) continue;
      const auto drift = [](const Array&, const Array& y) { return stack({y[1], -4. * sin(y[0])}); };
      const bool commutes = s.solver.traits().noise == NoiseKind::Commutative;
      const auto field = [commutes](const Array&, const Array& y) {
        return commutes ? Diagonal{stack({0.3 * cos(y[0]), 0.5 * y[1]})}
                        : Diagonal{stack({0.3 * cos(y[1]), 0.5 * y[0]})};
      };
      const auto end = [&](const Array& key, const SolveOptions& options, double dt0) {
        const VirtualBrownianTree path(0., 2., 2e-5, {2}, key, {.levy_area = LevyArea::SpaceTime});
        const auto sol = diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{field, path}}, s.solver, 0., 2.,
                                     dt0, array({1., 0.5}), options);
        return std::pair{sol.ys[-1], sol.stats.num_rejected_steps};
      };
      const auto exact =
          jit(vmap([&](const Array& key) { return end(key, {.max_steps = -1}, 1. / 4096); }))(keys);
      std::vector<double> errors;
      for (const double tolerance : {0.1, 0.01, 0.001}) {
        const SolveOptions options{
            .controller = PIDController{.rtol = tolerance, .atol = tolerance, .dtmin = 5e-5},
            .max_steps = -1};
        const auto found = jit(vmap([&](const Array& key) { return end(key, options, 0.1); }))(keys);
        const Array off = found.first - exact.first;
        errors.push_back(std::sqrt(mean(off * off).item<double>()));
        EXPECT_GT(sum(found.second).item<std::int64_t>(), 0) << name;
      }
      EXPECT_LT(errors[1], 0.5 * errors[0]) << name;
      EXPECT_LT(errors[2], 0.5 * errors[1]) << name;
      // The errors of some hundred steps, each up to 0.001.
      EXPECT_LT(errors[2], commutes ? 0.1 : 0.02) << name;
    }
}

struct Wave {  // x(t) = (sin t, t²)
  Array evaluate(const Array& t0, const Array& t1) const {
    return stack({sin(t1) - sin(t0), t1 * t1 - t0 * t0});
  }
  Array derivative(const Array& t) const { return stack({cos(t), 2. * t}); }
};
// Along a smooth path dy = g dx is y' = g x'.
TEST(Noise, ControlsAreAnyPath) {
  const auto field = [](const Array&, const Array& y) {
    return stack({stack({y[1], 1.}), stack({-y[0], y[0]})});
  };
  const auto slope = [&](const Array& t, const Array& y) {
    return matmul(field(t, y), stack({cos(t), 2. * t}));
  };
  const Array y0 = array({1., 0.5});
  const Array exact = diffeqsolve(ODETerm{slope}, Tsit5{}, 0., 1., 0.01, y0).ys[-1];
  const auto along = [&](const auto& f, const auto& solver) {
    return diffeqsolve(ControlTerm{f, Wave{}}, solver, 0., 1., 0.001, y0).ys[-1];
  };
  // Straight pieces in the place of a smooth path: an error of order 2.
  EXPECT_LT(max(abs(along(field, Tsit5{}) - exact)).item<double>(), 1e-6);
  const Array as_ode = diffeqsolve(to_ode(ControlTerm{field, Wave{}}), Tsit5{}, 0., 1., 0.01, y0).ys[-1];
  EXPECT_LT(max(abs(as_ode - exact)).item<double>(), 1e-14);
  EXPECT_LT(max(abs(along(field, Heun{}) - exact)).item<double>(), 1e-5);
  EXPECT_LT(max(abs(along(field, ReversibleHeun{}) - exact)).item<double>(), 1e-5);
  const auto as_operator = [&](const Array& t, const Array& y) { return matrix_operator(field(t, y)); };
  EXPECT_LT(max(abs(along(as_operator, Heun{}) - along(field, Heun{}))).item<double>(), 1e-14);
  EXPECT_LT(max(abs(along(as_operator, ReversibleHeun{}) - along(field, ReversibleHeun{}))).item<double>(),
            1e-14);
}

struct Pair {
  Array x, v;
};
// A state and a control that are trees; one control for all of a state; two terms in the place of one.
TEST(Noise, TermsAreTreesAndSums) {
  const Pair y0{array({1., 2.}), ones({2, 3})};
  const auto drift = [](const Array&, const Pair& y) { return Pair{-y.x, 0.5 * y.v}; };
  const auto diagonal = [](const Array&, const Pair& y) { return Diagonal{Pair{0.1 * y.x, 0.2 * y.v}}; };
  const VirtualBrownianTree tree(0., 1., 0.01, y0, random::key(1));
  const auto sol =
      diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{diagonal, tree}}, Heun{}, 0., 1., 0.1, y0);
  EXPECT_EQ(sol.ys.v.shape(), Shape({1, 2, 3}));
  EXPECT_FALSE(any(sol.ys.v[0][0] == sol.ys.v[0][1]).item<bool>());

  const VirtualBrownianTree two(0., 1., 0.01, {2}, random::key(2));
  const auto shared = [](const Array&, const Pair& y) {
    return Pair{stack({y.x, 0.3 * y.x}, -1), stack({0. * y.v, 0.2 * y.v}, -1)};
  };
  const auto one = [](const Array&, const Pair& y) {
    return Pair{stack({y.x, 0. * y.x}, -1), stack({0. * y.v, 0. * y.v}, -1)};
  };
  const auto other = [](const Array&, const Pair& y) {
    return Pair{stack({0. * y.x, 0.3 * y.x}, -1), stack({0. * y.v, 0.2 * y.v}, -1)};
  };
  for (const Stochastic& s : stochastic_solvers()) {
    const StepTraits traits = s.solver.traits();
    // Milstein's method takes paths of two terms to be independent.
    if (traits.levy_area != LevyArea::None || traits.noise != NoiseKind::General) continue;
    const auto whole =
        diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{shared, two}}, s.solver, 0., 1., 0.1, y0);
    const auto parts = diffeqsolve(MultiTerm{ControlTerm{one, two}, ODETerm{drift}, ControlTerm{other, two}},
                                   s.solver, 0., 1., 0.1, y0);
    // Products are added in another order.
    EXPECT_LT(max(abs(whole.ys.x - parts.ys.x)).item<double>(), 1e-13) << s.name;
    EXPECT_LT(max(abs(whole.ys.v - parts.ys.v)).item<double>(), 1e-13) << s.name;
  }
}

// Additive noise means the same in both senses: no solver is refused for the other one.
TEST(Noise, CalculusOfAdditiveNoiseIsEither) {
  const VirtualBrownianTree path(0., 1., 0.05, {2}, random::key(3), {.levy_area = LevyArea::SpaceTime});
  const auto drift = [](const Array&, const Array& y) { return -y; };
  const auto field = [](const Array& t, const Array&) { return Diagonal{stack({t, 0.5 + 0. * t})}; };
  for (const Stochastic& s : stochastic_solvers()) {
    const auto end = [&](Calculus calculus) {
      const MultiTerm term{ODETerm{drift}, ControlTerm{field, path, calculus}};
      return diffeqsolve(term, s.solver, 0., 1., 0.1, array({1., 2.})).ys[-1];
    };
    const Array any = end(Calculus::Any);
    EXPECT_TRUE(array_equal(end(Calculus::Ito), any).item<bool>()) << s.name;
    EXPECT_TRUE(array_equal(end(Calculus::Stratonovich), any).item<bool>()) << s.name;
  }
}

// Mean and variance of geometric Brownian motion, with increments that are drawn once.
TEST(Noise, UnsafeIncrementsGiveTheLaw) {
  constexpr std::int64_t n = 20'000;
  const auto end = [&](const Array& key) {
    const auto drift = [](const Array&, const Array& y) { return 0.1 * y; };
    const auto diffusion = [](const Array&, const Array& y) { return 0.2 * y; };
    return diffeqsolve(MultiTerm{ODETerm{drift}, ControlTerm{diffusion, UnsafeBrownianPath({}, key)}},
                       ItoMilstein{}, 0., 1., 0.01, 1.)
        .ys[-1];
  };
  const Array y = jit(vmap(end))(random::split(random::key(9), n));
  const double variance = std::exp(0.2) * (std::exp(0.04) - 1);
  EXPECT_NEAR(mean(y).item<double>(), std::exp(0.1), 5 * std::sqrt(variance / n));
  // Five standard errors; the kurtosis of this law is below 4.
  EXPECT_NEAR(var(y).item<double>(), variance, 5 * variance * std::sqrt(3. / n));
}

}  // namespace
}  // namespace apsis::testing
