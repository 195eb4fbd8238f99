// What holds of every solver: back in time, in f32, in lanes, with gradients, for states of any kind.

#include <cmath>

#include "diffeq/any_solver.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

const NewtonOptions exact_newton{.rtol = 1e-12, .atol = 1e-12, .kappa = 0.1, .max_steps = 50};

/// y' = p y cos t, and u' = -u v + p, v' = u v: of parameters and time, and not linear.
Array slope(const Array& p, const Array& t, const Array& y) {
  const Array product = y[1] * y[2];
  return stack({p[0] * y[0] * cos(t), p[1] - product, product});
}
/// The state at t1 by steps of one length, or adaptive ones where `controller` says so.
Array ended(const Whole& solver, const Array& p, const Array& y0, double t0, double t1, const Array& dt0,
            const SolveOptions& options = {}) {
  const auto field = [p](const Array& t, const Array& y) { return slope(p, t, y); };
  return diffeqsolve(ODETerm{field}, solver, t0, t1, dt0, y0, options).ys[-1];
}

const Array parameters = array({1., 0.3}), start = array({1., 1., 0.5});

// There and back again is the start, up to the errors of both ways.
TEST(Solvers, GoBack) {
  for (const Named& s : whole_solvers(exact_newton)) {
    SCOPED_TRACE(s.name);
    const auto there_and_back = [&](const Array& y) {
      return ended(s.solver, parameters, ended(s.solver, parameters, y, 0., 1., 0.01), 1., 0., -0.01);
    };
    const double off = max(abs(jit(there_and_back)(start) - start)).item<double>();
    // Solvers of order 1 are off by some hundredths, those of order 2 by some thousandths.
    EXPECT_LT(off, s.solver.traits().order == 1 ? 0.06 : 1e-3);
  }
}

TEST(Solvers, KeepF32) {
  for (const Named& s : whole_solvers({.rtol = 1e-4, .atol = 1e-4, .max_steps = 50})) {
    SCOPED_TRACE(s.name);
    const Array y = ended(s.solver, astype(parameters, f32), astype(start, f32), 0., 1., 0.05);
    EXPECT_EQ(y.dtype(), Dtype::F32);
    const Array exact = ended(s.solver, parameters, start, 0., 1., 0.05);
    // Twenty steps, each of some roundings.
    EXPECT_LT(max(abs(y - exact)).item<double>(), 2e-5);
  }
}

// Lanes with their own steps are what single solves are, bit for bit.
TEST(Solvers, LanesEqualSingleSolves) {
  const Array starts = stack({start, 2. * start, array({-1., 0.2, 3.}), 0.1 * start, start + 1.});
  for (const Named& s : whole_solvers()) {
    if (s.solver.traits().error_order == 0) continue;
    SCOPED_TRACE(s.name);
    const auto one = [&](const Array& y) {
      return ended(s.solver, parameters, y, 0., 2., 0.1,
                   {.controller = PIDController{.rtol = 1e-4, .atol = 1e-6}});
    };
    const Array many = jit(vmap(one))(starts);
    for (std::int64_t i = 0; i < starts.dim(0); ++i)
      EXPECT_TRUE(all(many[i] == jit(one)(starts[i])).item<bool>()) << "lane " << i;
  }
}

/// Sixteen equations, each of which knows its neighbours.
Array ring(const Array& t, const Array& y) {
  return cos(t) - y * (1. + 0.1 * roll(y, 1, 0)) + 0.2 * roll(y, -1, 0);
}

// The most equations whose matrices are written out.
TEST(Solvers, LanesOfSixteenEquationsEqualSingleSolves) {
  const Array starts = random::uniform(random::key(16), {3, 16});
  const auto check = [&](const std::string& name, const auto& run) {
    SCOPED_TRACE(name);
    const Array many = jit(vmap(run))(starts);
    for (std::int64_t i = 0; i < starts.dim(0); ++i)
      EXPECT_TRUE(all(many[i] == jit(run)(starts[i])).template item<bool>()) << "lane " << i;
  };
  const SolveOptions adaptive{.controller = PIDController{.rtol = 1e-4, .atol = 1e-6}};
  for (const Named& s : whole_solvers())
    check(s.name, [&](const Array& y) {
      return diffeqsolve(ODETerm{ring}, s.solver, 0., 1., 0.1, y,
                         s.solver.traits().error_order == 0 ? SolveOptions{} : adaptive)
          .ys[-1];
    });
  for (const auto& [name, solver] : split_solvers(exact_newton))
    check(name, [&, solver = solver](const Array& y) {
      const auto slow = [](const Array& t, const Array& x) { return cos(t) + 0.1 * roll(x, 1, 0); };
      const auto fast = [](const Array&, const Array& x) { return -3. * x + 0.2 * roll(x, -1, 0); };
      return diffeqsolve(MultiTerm{ODETerm{slow}, ODETerm{fast}}, solver, 0., 1., 0.1, y).ys[-1];
    });
  for (const auto& [name, solver] : partitioned_solvers())
    check(name, [&, solver = solver](const Array& y) {
      const auto velocity = [](const Array&, const Array& p) { return p; };
      const auto force = [](const Array& t, const Array& q) { return cos(t) - q - 0.1 * roll(q, 1, 0); };
      const auto end = diffeqsolve(std::pair{ODETerm{velocity}, ODETerm{force}}, solver, 0., 1., 0.1,
                                   std::pair{y[range(0, 8)], y[range(8, 16)]})
                           .ys;
      return concatenate({end.first[-1], end.second[-1]});
    });
}

// Gradients on fixed steps are those of the steps: central differences of them agree.
TEST(Solvers, GradientsAreThoseOfTheSteps) {
  for (const Named& s : whole_solvers(exact_newton)) {
    SCOPED_TRACE(s.name);
    const auto loss = [&](const Array& x) {
      const Array y = ended(s.solver, x[range(0, 2)], x[range(2, 5)], 0., 0.6, 0.2);
      return sum(y * y * array({1., 2., 3.}));
    };
    const Array x = concatenate({parameters, start});
    const auto value = jit(loss);
    const Array by_reverse = jit(grad(loss))(x), by_forward = jit(jacfwd(loss))(x);
    for (std::int64_t i = 0; i < 5; ++i) {
      // With h = 1e-4 the difference is off by h² times a third derivative of order 10, and by rounding / h.
      const double h = 1e-4;
      const Array step = h * (arange(5) == i);
      const double difference = (value(x + step).item<double>() - value(x - step).item<double>()) / (2 * h);
      EXPECT_NEAR(by_reverse[i].item<double>(), difference, 1e-6 * (1 + std::abs(difference))) << i;
      EXPECT_NEAR(by_forward[i].item<double>(), by_reverse[i].item<double>(),
                  1e-9 * (1 + std::abs(difference)))
          << i;
    }
  }
}

/// What holds of `run`, from a state at t0 to one at t1: lanes are single solves bit for bit, and both modes
/// of derivatives are what differences say.
template <class Run>
void expect_lanes_and_derivatives(const Run& run, const Array& at) {
  const Array starts = stack({at, 1.5 * at, 0.7 * at});
  const Array many = jit(vmap(run))(starts);
  for (std::int64_t i = 0; i < starts.dim(0); ++i)
    EXPECT_TRUE(all(many[i] == jit(run)(starts[i])).template item<bool>()) << "lane " << i;
  const auto loss = [&](const Array& y) {
    const Array end = run(y);
    return sum(end * end);
  };
  const auto value = jit(loss);
  const Array by_reverse = jit(grad(loss))(at), by_forward = jit(jacfwd(loss))(at);
  for (std::int64_t i = 0; i < at.size(); ++i) {
    // As in GradientsAreThoseOfTheSteps.
    const double h = 1e-4;
    const Array step = h * (arange(at.size()) == i);
    const double difference = (value(at + step) - value(at - step)).template item<double>() / (2 * h);
    EXPECT_NEAR(by_reverse[i].template item<double>(), difference, 1e-6 * (1 + std::abs(difference))) << i;
    EXPECT_NEAR(by_forward[i].template item<double>(), by_reverse[i].template item<double>(),
                1e-9 * (1 + std::abs(difference)))
        << i;
  }
}

TEST(Solvers, ThatSplitHaveLanesAndDerivatives) {
  const auto field = [](const Array& t, const Array& y) { return stack({y[0] * cos(t), 0. * y[1], y[2]}); };
  const auto stiff = [](const Array&, const Array& y) {
    return stack({-y[0] * y[1], -5. * y[1], y[1] * y[2]});
  };
  for (const auto& [name, solver] : split_solvers(exact_newton)) {
    SCOPED_TRACE(name);
    expect_lanes_and_derivatives(
        [&, solver = solver](const Array& y) {
          return diffeqsolve(MultiTerm{ODETerm{field}, ODETerm{stiff}}, solver, 0., 1., 0.1, y).ys[-1];
        },
        start);
  }
}

// As GoBack and KeepF32, of those that take the parts of an equation.
template <class Run>
void expect_back_and_f32(const Run& run, const Array& at, int order) {
  const auto there_and_back = [&](const Array& y) { return run(run(y, 0., 1., 0.01), 1., 0., -0.01); };
  EXPECT_LT(max(abs(jit(there_and_back)(at) - at)).template item<double>(), order == 1 ? 0.06 : 1e-3);
  const Array y = run(astype(at, f32), 0., 1., 0.05);
  EXPECT_EQ(y.dtype(), Dtype::F32);
  EXPECT_LT(max(abs(y - run(at, 0., 1., 0.05))).template item<double>(), 2e-5);
}

TEST(Solvers, ThatSplitGoBackAndKeepF32) {
  const auto field = [](const Array& t, const Array& y) { return stack({y[0] * cos(t), 0. * y[1], y[2]}); };
  const auto other = [](const Array&, const Array& y) { return stack({-y[0] * y[1], -y[1], y[1] * y[2]}); };
  for (const auto& [name, solver] :
       split_solvers({.rtol = 1e-5, .atol = 1e-5, .kappa = 0.1, .max_steps = 50})) {
    SCOPED_TRACE(name);
    expect_back_and_f32(
        [&, solver = solver](const Array& y, double t0, double t1, double dt) {
          return diffeqsolve(MultiTerm{ODETerm{field}, ODETerm{other}}, solver, t0, t1, dt, y).ys[-1];
        },
        start, solver.traits().order);
  }
}

TEST(Solvers, OfPairsGoBackAndKeepF32) {
  const auto velocity = [](const Array& t, const Array& p) { return p + t; };
  const auto force = [](const Array&, const Array& q) { return -q / pow(sum(q * q), 1.5); };
  for (const auto& [name, solver] : partitioned_solvers()) {
    SCOPED_TRACE(name);
    expect_back_and_f32(
        [&, solver = solver](const Array& y, double t0, double t1, double dt) {
          const auto end = diffeqsolve(std::pair{ODETerm{velocity}, ODETerm{force}}, solver, t0, t1, dt,
                                       std::pair{y[range(0, 2)], y[range(2, 4)]})
                               .ys;
          return concatenate({end.first[-1], end.second[-1]});
        },
        array({1., 0.2, 0., 1.}), solver.traits().order);
  }
}

TEST(Solvers, OfPairsHaveLanesAndDerivatives) {
  const auto velocity = [](const Array& t, const Array& p) { return p + t; };
  const auto force = [](const Array&, const Array& q) { return -q / pow(sum(q * q), 1.5); };
  for (const auto& [name, solver] : partitioned_solvers()) {
    SCOPED_TRACE(name);
    expect_lanes_and_derivatives(
        [&, solver = solver](const Array& y) {
          const auto ys = diffeqsolve(std::pair{ODETerm{velocity}, ODETerm{force}}, solver, 0., 0.5, 0.1,
                                      std::pair{y[range(0, 2)], y[range(2, 4)]})
                              .ys;
          return concatenate({ys.first[-1], ys.second[-1]});
        },
        array({0.9, 0.2, -0.1, 0.8}));
  }
}

// A first step that is much too long is rejected, and has no part in the gradient.
TEST(Solvers, RejectedStepsLeaveGradientsFinite) {
  for (const Named& s : whole_solvers()) {
    if (!s.stiff) continue;
    SCOPED_TRACE(s.name);
    const auto loss = [&](const Array& y) {
      const auto field = [](const Array&, const Array& x) { return -(x * x * x * x * x); };
      return sum(diffeqsolve(ODETerm{field}, s.solver, 0., 1., 1e8, y,
                             {.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}})
                     .ys);
    };
    // y = (y0⁻⁴ + 4 t)^(-1/4)
    const double at = 2., rest = std::pow(at, -4) + 4, exact = std::pow(rest, -1.25) * std::pow(at, -5);
    EXPECT_NEAR(jit(grad(loss))(array({at}))[0].item<double>(), exact, 1e-2 * exact);
  }
}

// Whatever decays a million times faster than the step is long is gone after it, but for what error control
// would not let pass.
TEST(Solvers, StiffOnesDampWhatIsFast) {
  for (const Named& s : whole_solvers(exact_newton)) {
    if (!s.stiff) continue;
    SCOPED_TRACE(s.name);
    const auto field = [](const Array& t, const Array& y) { return -1e6 * (y - cos(t)); };
    const Array y = diffeqsolve(ODETerm{field}, s.solver, 0., 1., 0.1, array({0.}), {}).ys[-1];
    EXPECT_NEAR(y[0].item<double>(), std::cos(1.), 1e-4);
  }
}

struct Parts {
  Array scalar, matrix;
};

// States of scalars and matrices are what their elements in one vector are.
TEST(Solvers, TakeStatesOfAnyShape) {
  const auto flat = [](const Array&, const Array& y) {
    return stack({-y[1] * y[0], y[0] - y[1], -y[2], y[3] * y[0]});
  };
  const auto parts = [](const Array&, const Parts& y) {
    const Array &a = y.scalar, &m = y.matrix;
    return Parts{-m[0][0] * a, stack({stack({a - m[0][0], -m[0][1], m[0][2] * a})})};
  };
  const SolveOptions options{.controller = PIDController{.rtol = 1e-5, .atol = 1e-7}};
  for (const Named& s : whole_solvers()) {
    if (s.solver.traits().error_order == 0) continue;
    SCOPED_TRACE(s.name);
    const Array y = diffeqsolve(ODETerm{flat}, s.solver, 0., 1., 0.1, array({1., 2., 3., 4.}), options).ys[0];
    const Parts p = diffeqsolve(ODETerm{parts}, s.solver, 0., 1., 0.1,
                                Parts{array(1.), reshape(array({2., 3., 4.}), {1, 3})}, options)
                        .ys;
    const Array joined = concatenate({reshape(p.scalar, {1}), reshape(p.matrix, {3})});
    EXPECT_LT(max(abs(y - joined)).item<double>(), 1e-12);
  }
}

TEST(Solvers, TakeStatesOfNoElements) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  for (const Named& s : whole_solvers(exact_newton)) {
    SCOPED_TRACE(s.name);
    const auto solve = [&](const Array& y) {
      return diffeqsolve(ODETerm{decay}, s.solver, 0., 1., 0.25, y, {.saveat = {.ts = {0.3}, .t1 = true}}).ys;
    };
    EXPECT_EQ(solve(zeros({0})).shape(), (Shape{2, 0}));
    EXPECT_EQ(jit(solve)(zeros({0})).shape(), (Shape{2, 0}));
  }
}

// A sum of terms is the term of the sum.
TEST(Terms, OfASumAreAdded) {
  const auto f = [](const Array&, const Array& y) { return -y; };
  const auto g = [](const Array& t, const Array& y) { return cos(t) + 0. * y; };
  const auto both = [=](const Array& t, const Array& y) { return f(t, y) + g(t, y); };
  const SolveOptions options{.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}};
  const Array one = diffeqsolve(ODETerm{both}, Tsit5{}, 0., 1., 0.1, array({1., 2.}), options).ys;
  const Array two =
      diffeqsolve(MultiTerm{ODETerm{f}, ODETerm{g}}, Tsit5{}, 0., 1., 0.1, array({1., 2.}), options).ys;
  EXPECT_TRUE(all(one == two).item<bool>());
}

/// As the comment in solver.hpp has it.
struct Own {
  StepTraits traits() const { return {.name = "Own", .order = 2}; }
  std::vector<Array> init(const SolverStart& s) const { return {s.t0, s.y0[0]}; }
  SolverAttempt step(const SolverStep& s) const {
    Array h = s.slopes.length(s.state[0], s.t1);
    return {.y1 = {s.state[1] + h * s.slopes(s.t0, s.y0)[0]}, .state = {s.t0, s.y0[0]}};
  }
  LocalLinearInterpolation interpolation() const { return {}; }
};

TEST(Solvers, OfOnesOwnAreWhatTheirMembersSay) {
  const auto field = [](const Array& t, const Array& y) { return stack({y[1], -y[0] + sin(t)}); };
  const SolveOptions options{.saveat = {.ts = {0.13, 1.}}};
  const Array own = diffeqsolve(ODETerm{field}, Own{}, 0., 1., 0.1, array({1., 0.}), options).ys;
  const Array library =
      diffeqsolve(ODETerm{field}, LeapfrogMidpoint{}, 0., 1., 0.1, array({1., 0.}), options).ys;
  EXPECT_TRUE(all(own == library).item<bool>());
}

// Steps by hand are those of a solve with the same ends, and so is dense output.
TEST(Solvers, StepByHand) {
  const auto field = [](const Array& t, const Array& y) { return slope(parameters, t, y); };
  const Tolerances tolerances{1e-10, 1e-10};
  for (const Named& s : whole_solvers({.rtol = 1e-10, .atol = 1e-10, .max_steps = 50})) {
    SCOPED_TRACE(s.name);
    const auto by_hand = [&](const Array& y0) {
      auto now = solver_start(ODETerm{field}, s.solver, 0., y0);
      now = solver_step(ODETerm{field}, s.solver, now, 0.1, tolerances).next;
      const auto last = solver_step(ODETerm{field}, s.solver, now, 0.3, tolerances);
      return stack({solver_interpolate(s.solver, last, 0.15), last.next.y});
    };
    const Array whole =
        diffeqsolve(ODETerm{field}, s.solver, 0., 0.3, {}, start,
                    {.controller = StepTo{{0., 0.1, 0.3}}, .saveat = {.ts = {0.15}, .t1 = true}})
            .ys;
    // In one program products and sums are joined to fma elsewhere than in the other.
    EXPECT_LT(max(abs(jit(by_hand)(start) - whole)).item<double>(), 1e-13);
    EXPECT_LT(max(abs(by_hand(start) - whole)).item<double>(), 1e-13);
  }
}

// The energy of a planet's orbit stays where it was, by solvers that are symplectic.
TEST(Symplectic, KeepEnergyOverAThousandTurns) {
  const auto velocity = [](const Array&, const Array& p) { return p; };
  const auto force = [](const Array&, const Array& q) { return -q / pow(sum(q * q), 1.5); };
  const auto energy = [](const Array& q, const Array& p) { return 0.5 * sum(p * p) - 1. / sqrt(sum(q * q)); };
  const std::pair y0{array({0.8, 0.}), array({0., std::sqrt(1.5)})};  // eccentricity 0.2
  const double bounds[] = {0.05, 1e-3, 1e-5};
  int i = 0;
  for (const auto& [name, solver] : partitioned_solvers()) {
    SCOPED_TRACE(name);
    const auto sol = diffeqsolve(std::pair{ODETerm{velocity}, ODETerm{force}}, solver, 0., 6283., 0.02, y0,
                                 {.max_steps = -1});
    const double off =
        (energy(sol.ys.first[0], sol.ys.second[0]) - energy(y0.first, y0.second)).item<double>();
    EXPECT_LT(std::abs(off), bounds[i++]);
  }
}

}  // namespace
}  // namespace apsis::testing
