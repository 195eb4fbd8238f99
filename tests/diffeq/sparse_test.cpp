// Implicit solvers of large states find the pattern of their Jacobians.

#include <cmath>

#include "diffeq/any_solver.hpp"

namespace apsis::testing {
namespace {

double number(const Array& a) { return a.item<double>(); }
double distance(const Array& a, const Array& b) { return max(abs(a - b)).item<double>(); }

/// The Brusselator along a line (Hairer, Wanner, IV.10): u' = 1 + u² v - 4 u + α u_xx, v' = 3 u - u² v + α
/// v_xx, u = 1 and v = 3 at the ends. The state is [2, N]: given so, its Jacobian has no narrow bands.
struct Brusselator {
  Array alpha;
  bool full = false;  ///< the same, of which the program tells nothing

  static Array second(const Array& u, double end) {
    const Array ends = array({end}), wide = concatenate({ends, u, ends});
    return wide[range(0, -2)] - 2. * u + wide[range(2, {})];
  }
  Array operator()(const Array&, const Array& y) const {
    const Array u = y[0], v = y[1], reaction = u * u * v;
    const double n = static_cast<double>(u.size()), per_square = (n + 1) * (n + 1);
    const Array slope = stack({1. + reaction - 4. * u + alpha * per_square * second(u, 1.),
                               3. * u - reaction + alpha * per_square * second(v, 3.)});
    return full ? slope + 0. * sum(y) : slope;
  }
  static Array start(std::int64_t n) {
    const Array x = arange(1., static_cast<double>(n) + 1) / static_cast<double>(n + 1);
    return stack({1. + sin(2 * M_PI * x), full_like(x, 3.)});
  }
};

std::vector<std::pair<std::string, Whole>> solvers() {
  return {{"rodas5p", any<Whole>(Rodas5P{})},
          {"radau5", any<Whole>(Radau5{})},
          {"ndf", any<Whole>(BackwardDifferences{})},
          {"kvaerno5", any<Whole>(Kvaerno5{})}};
}

TEST(Sparse, SolvesAreThoseWithFullMatrices) {
  const Array y0 = Brusselator::start(30);
  for (const auto& [name, solver] : solvers()) {
    SCOPED_TRACE(name);
    const auto solve = [&, solver = solver](const Brusselator& field) {
      return diffeqsolve(ODETerm{field}, solver, 0., 2., 1e-3, y0,
                         {.controller = PIDController{.rtol = 1e-6, .atol = 1e-6}});
    };
    const auto sparse = jit([&] { return solve({0.02}); })(), full = jit([&] {
                                                                return solve({0.02, true});
                                                              })();
    EXPECT_EQ(number(sparse.stats.num_steps), number(full.stats.num_steps));
    // Rounding, which the choice of steps enlarges.
    EXPECT_LT(distance(sparse.ys, full.ys), 1e-9);
    const auto end = [&](bool is_full) {
      return [&, is_full](const Array& alpha) { return sum(square(solve({alpha, is_full}).ys)); };
    };
    const double slope = number(jit(grad(end(false)))(array(0.02)));
    EXPECT_NEAR(slope, number(jit(grad(end(true)))(array(0.02))), 1e-7 * std::abs(slope));
    EXPECT_NEAR(slope, number(jit(jacfwd(end(false)))(array(0.02))), 1e-7 * std::abs(slope));
    const Array alphas = array({0.02, 0.01});
    const Array many = jit(vmap(end(false)))(alphas);
    for (int i = 0; i < 2; ++i)
      EXPECT_NEAR(number(many[i]), number(jit(end(false))(alphas[i])), 1e-9 * number(many[i]));
  }
}

/// A chain of reactions, each with the next and two with a substance that all others share: 12 equations with
/// few entries.
struct Chain {
  Array rate;
  bool full = false;  ///< the same, of which the program tells nothing
  Array operator()(const Array&, const Array& y) const {
    const std::vector<Array> c = unstack(y);
    std::vector<Array> d(c.size(), zeros_like(c[0]));
    for (std::size_t i = 0; i + 1 < c.size(); ++i) {
      const Array flow =
          rate * std::pow(10., static_cast<double>(i % 5)) * c[i] * (i % 4 == 1 ? c.back() + 1. : 1.) -
          0.1 * c[i + 1];
      d[i] = d[i] - flow, d[i + 1] = d[i + 1] + flow;
    }
    const Array slope = stack(d);
    return full ? slope + 0. * sum(y) : slope;
  }
  static Array start() { return concatenate({ones({1}), zeros({11})}); }
};

// Few equations: factors in straight line.
TEST(Sparse, SmallSystemsAreSolvedAsWithFullMatrices) {
  for (const auto& [name, solver] : solvers()) {
    SCOPED_TRACE(name);
    const auto solve = [&, solver = solver](const Chain& field) {
      return diffeqsolve(ODETerm{field}, solver, 0., 5., 1e-3, Chain::start(),
                         {.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}});
    };
    const auto sparse = jit([&] { return solve({0.7}); })(), full = jit([&] { return solve({0.7, true}); })();
    EXPECT_EQ(number(sparse.stats.num_steps), number(full.stats.num_steps));
    EXPECT_LT(distance(sparse.ys, full.ys), 1e-9);
    const auto only = [&](const Array& rate) { return solve({rate}).ys; };
    const Array rates = array({0.7, 0.5, 3., 0.1, 1.2, 0.02, 0.7, 40., 8.});
    const Array many = jit(vmap(only))(rates);
    const auto one = jit(only);
    for (int i = 0; i < rates.size(); ++i) EXPECT_TRUE(array_equal(many[i], one(rates[i])).item<bool>()) << i;
  }
}

TEST(Sparse, SmallSystemsHaveTheDerivativesOfFullMatrices) {
  for (const Whole& solver : {any<Whole>(Rodas5P{}), any<Whole>(BackwardDifferences{})}) {
    const auto end = [&](bool full) {
      return [&, full](const Array& rate) {
        return sum(square(diffeqsolve(ODETerm{Chain{rate, full}}, solver, 0., 5., 1e-3, Chain::start(),
                                      {.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}})
                              .ys));
      };
    };
    const double slope = number(jit(grad(end(true)))(array(0.7)));
    EXPECT_NEAR(slope, number(jit(grad(end(false)))(array(0.7))), 1e-7 * std::abs(slope));
    EXPECT_NEAR(slope, number(jit(jacfwd(end(false)))(array(0.7))), 1e-7 * std::abs(slope));
  }
}

// A pivot on the diagonal is 0 at a step of this length: rows are exchanged, lane by lane.
TEST(Sparse, PivotsThatDoNotDoAreExchanged) {
  const double h = 0.25;
  const auto solve = [&](bool full, const Array& own) {
    const auto field = [=](const Array&, const Array& y) {
      const Array next = roll(y, -1, 0), slope = own * y - concatenate({next[range(0, -1)], zeros({1})}) -
                                                 concatenate({zeros({1}), y[range(0, -1)]});
      return full ? slope + 0. * sum(y) : slope;
    };
    return diffeqsolve(ODETerm{field}, Rodas5P{}, 0., 4 * h, h, cos(arange(8.))).ys[-1];
  };
  const Array zero = array(1 / (h * 0.21193756319429014)),
              owns = stack({zero, 0.5 * zero, zero + 1e-14, array(-3.)});
  const Array many = jit(vmap([&](const Array& own) { return solve(false, own); }))(owns);
  const auto alone = jit([&](const Array& own) { return solve(false, own); });
  for (int i = 0; i < 4; ++i) {
    const Array one = alone(owns[i]);
    EXPECT_TRUE(array_equal(many[i], one).item<bool>()) << i;
    const Array want = solve(true, owns[i]);
    EXPECT_LT(distance(one, want), 1e-11 * max(abs(want)).item<double>()) << i;
  }
}

// What couples elements from t = 0.5 on is in the pattern at first, too: of solves whose times are known, and
// by hand.
TEST(Sparse, ThePatternHoldsAtAllTimes) {
  const auto field = [](bool full) {
    return [full](const Array& t, const Array& y) {
      const Array slope = -20. * y + where(t < 0.5, 0., 4.) * roll(y, 5, 0);
      return full ? slope + 0. * sum(y) : slope;
    };
  };
  const Array y0 = cos(linspace(0., 3., 40));
  const NewtonOptions newton{.rtol = 1e-12, .atol = 1e-12, .kappa = 0.5, .max_steps = 50};
  for (const Whole& solver :
       {any<Whole>(Kvaerno5{newton}), any<Whole>(Radau5{newton}), any<Whole>(Rodas5P{})}) {
    const auto solve = [&](bool full) {
      return diffeqsolve(ODETerm{field(full)}, solver, 0., 1., 0.4, y0).ys[-1];
    };
    EXPECT_LT(distance(solve(false), solve(true)), 1e-10) << solver.traits().name;
  }
}

// Terms that split: diffusion alone is implicit.
TEST(Sparse, SoAreThoseThatSplit) {
  const auto reaction = [](const Array&, const Array& y) { return y - y * y * y; };
  const auto solve = [&](bool full) {
    const auto diffusion = [full](const Array&, const Array& y) {
      const Array slope = 100. * (roll(y, 1, 0) - 2. * y + roll(y, -1, 0));  // a ring
      return full ? slope + 0. * sum(y) : slope;
    };
    return diffeqsolve(MultiTerm{ODETerm{reaction}, ODETerm{diffusion}}, KenCarp4{}, 0., 1., 1e-3,
                       sin(linspace(0., 6., 64)), {.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}})
        .ys;
  };
  EXPECT_LT(distance(solve(false), solve(true)), 1e-10);
}

// Of 10,000 unknowns a full matrix would have 800 MB, and its factors take minutes.
TEST(Sparse, LargeSystemsAreSolved) {
  const Array y0 = Brusselator::start(5000);
  for (const auto& [name, solver] : solvers()) {
    const auto sol = diffeqsolve(ODETerm{Brusselator{1e-7}}, solver, 0., 1e-2, 1e-3, y0,
                                 {.controller = PIDController{.rtol = 1e-4, .atol = 1e-6}});
    EXPECT_TRUE(all(isfinite(sol.ys)).item<bool>()) << name;
  }
}

// A sheet, whose order has no narrow bands: KLU.
TEST(Sparse, InTwoDimensions) {
  const auto field = [](bool full) {
    return [full](const Array&, const Array& y) {
      const Array around = roll(y, 1, 0) + roll(y, -1, 0) + roll(y, 1, 1) + roll(y, -1, 1);
      const Array slope = 50. * (around - 4. * y) + y - y * y * y;
      return full ? slope + 0. * sum(y) : slope;
    };
  };
  const Array x = linspace(0., 6., 14), y0 = expand_dims(sin(x), 1) * cos(x);
  for (const auto& [name, solver] : solvers()) {
    const auto solve = [&, solver = solver](bool full) {
      return diffeqsolve(ODETerm{field(full)}, solver, 0., 0.5, 1e-3, y0,
                         {.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}})
          .ys;
    };
    EXPECT_LT(distance(jit([&] { return solve(false); })(), jit([&] { return solve(true); })()), 1e-9)
        << name;
  }
}

// Heat along a rod whose ends are held: algebraic equations, in a mass matrix of 0 at both ends.
TEST(Sparse, WithAMassMatrix) {
  constexpr std::int64_t n = 64;
  const auto field = [](bool full) {
    return [full](const Array& t, const Array& y) {
      const Array inner = 100. * (y[range(0, -2)] - 2. * y[range(1, -1)] + y[range(2, {})]);
      const Array slope = concatenate({reshape(y[0] - sin(t), {1}), inner, reshape(y[-1] - y[-3], {1})});
      return full ? slope + 0. * sum(y) : slope;
    };
  };
  const Array mass = concatenate({zeros({1}), full({n - 2}, 2.), zeros({1})});
  for (const auto& [name, solver] :
       {std::pair{"rodas5p", any<Whole>(Rodas5P{})}, std::pair{"radau5", any<Whole>(Radau5{})},
        std::pair{"ndf", any<Whole>(BackwardDifferences{})}}) {
    const auto solve = [&, solver = solver](bool full) {
      return diffeqsolve(ODETerm{field(full)}, solver, 0., 3., 1e-3, zeros({n}),
                         {.controller = PIDController{.rtol = 1e-6, .atol = 1e-8}, .mass = mass})
          .ys[-1];
    };
    const Array y = solve(false);
    EXPECT_LT(distance(y, solve(true)), 1e-9) << name;
    EXPECT_NEAR(number(y[0]), std::sin(3.), 1e-9) << name;
  }
}

}  // namespace
}  // namespace apsis::testing
