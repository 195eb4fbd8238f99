// Least squares: all solvers, bounds, robust losses, derivatives, lanes.

#include <gtest/gtest.h>

#include <cmath>

#include <apsis/apsis.hpp>

#include "errors/error_of.hpp"

namespace {

using namespace apsis;
using apsis::testing::error_of;

struct Decay {
  Array level, rate;
};
const Array times = linspace(0., 4., 21);
Array model(const Decay& d, const Array& t) { return d.level * exp(-d.rate * t); }

TEST(LeastSquares, AllSolversFitATree) {
  const Array data = model({2., 0.7}, times) + 0.01 * sin(17. * times);
  auto residual = [](const Decay& d, const Array& y) { return model(d, times) - y; };
  auto check = [&](const char* name, const auto& solver) {
    SCOPED_TRACE(name);
    auto fit = [&](const Array& y) { return least_squares(residual, solver, Decay{1., 0.3}, y); };
    auto sol = jit(fit)(data);
    // The gradient of the cost is 0.
    auto cost = [&](const Decay& d) { return 0.5 * sum(square(residual(d, data))); };
    const Decay g = grad(cost)(sol.value);
    EXPECT_NEAR(g.level.template item<double>(), 0, 1e-8);
    EXPECT_NEAR(g.rate.template item<double>(), 0, 1e-8);
    EXPECT_NEAR(sol.objective.template item<double>(), cost(sol.value).template item<double>(), 1e-15);
    // Derivatives by the data: those of the equation, against central differences of converged fits.
    auto rate = [&](const Array& y) { return fit(y).value.rate; };
    const Array slope = jit(grad(rate))(data);
    const Array way = cos(3. * times);
    const double h = 1e-4, along = dot(slope, way).template item<double>();
    const double difference =
        (rate(data + h * way).template item<double>() - rate(data - h * way).template item<double>()) /
        (2 * h);
    EXPECT_NEAR(along, difference, 1e-6);  // h² times third derivatives of about 10
    // Each lane its own fit.
    const Array many_data = stack({data, 2. * data, data + 0.1});
    auto many = jit(vmap(fit))(many_data);
    for (int i = 0; i < 3; ++i) {
      auto one = jit(fit)(many_data[i]);
      EXPECT_NEAR(many.value.rate[i].template item<double>(), one.value.rate.template item<double>(), 1e-9);
    }
  };
  check("LevenbergMarquardt", LevenbergMarquardt{});
  check("Dogleg", Dogleg{});
  check("GaussNewton", GaussNewton{});
}

TEST(LeastSquares, Bounds) {
  auto residual = [](const Array& x) { return stack({10. * (x[1] - square(x[0])), 1. - x[0]}); };
  auto check = [&](const auto& solver) {
    // SciPy's documentation: lower bounds (-inf, 1.5) give (1.22437075, 1.5).
    auto sol = least_squares(residual, solver, array({2., 2.}), {.lower = array({-double(INFINITY), 1.5})});
    EXPECT_NEAR(sol.value[0].template item<double>(), 1.22437075, 1e-7);
    EXPECT_EQ(sol.value[1].template item<double>(), 1.5);
    auto free = least_squares(residual, solver, array({2., 2.}), {.lower = -10., .upper = 10.});
    EXPECT_NEAR(free.value[0].template item<double>(), 1, 1e-9);
  };
  check(LevenbergMarquardt{});
  check(Dogleg{});
}

TEST(LeastSquares, RobustLossesHoldOutliersOff) {
  Array data = model({2., 0.7}, times);
  data = data.at(5).set(8.).at(12).set(-3.);
  auto fit = [&](RobustLoss loss) {
    return least_squares([&](const Decay& d) { return model(d, times) - data; }, LevenbergMarquardt{},
                         Decay{1., 0.3}, {.loss = loss, .f_scale = 0.1});
  };
  EXPECT_GT(std::abs(fit(RobustLoss::Linear).value.level.item<double>() - 2.), 0.3);
  for (RobustLoss loss : {RobustLoss::SoftL1, RobustLoss::Huber, RobustLoss::Cauchy, RobustLoss::Arctan}) {
    auto sol = fit(loss);
    EXPECT_NEAR(sol.value.level.item<double>(), 2., 0.1);
    // The minimum of the cost itself: no step aside is better.
    auto cost = [&](const Decay& d) {
      const double level = d.level.item<double>(), rate = d.rate.item<double>();
      double total = 0;
      for (int i = 0; i < 21; ++i) {
        const double t = 0.2 * i, r = level * std::exp(-rate * t) - data[i].item<double>(), z = 100 * r * r;
        total += loss == RobustLoss::SoftL1   ? 2 * (std::sqrt(1 + z) - 1)
                 : loss == RobustLoss::Huber  ? (z <= 1 ? z : 2 * std::sqrt(z) - 1)
                 : loss == RobustLoss::Cauchy ? std::log1p(z)
                                              : std::atan(z);
      }
      return 0.5 * 0.01 * total;
    };
    const double best = cost(sol.value);
    EXPECT_NEAR(best, sol.objective.item<double>(), 1e-12);
    for (double step : {-1e-3, 1e-3}) {
      EXPECT_LT(best, cost({sol.value.level + step, sol.value.rate}));
      EXPECT_LT(best, cost({sol.value.level, sol.value.rate + step}));
    }
  }
}

TEST(LeastSquares, CovarianceOfALine) {
  // y = a + b t: (σ² (XᵀX)⁻¹) in closed form.
  const Array t = arange(0., 5.), y = array({1., 2.9, 5.2, 6.8, 9.1});
  auto residual = [&](const Decay& d) { return d.level + d.rate * t - y; };
  auto sol = least_squares(residual, Decay{0., 0.});
  EXPECT_NEAR(sol.value.rate.item<double>(), 2.01, 1e-10);
  EXPECT_NEAR(sol.value.level.item<double>(), 0.98, 1e-10);
  const double variance = 2 * sol.objective.item<double>() / 3;
  const Decay errors = standard_errors(residual, sol.value);
  EXPECT_NEAR(errors.rate.item<double>(), std::sqrt(variance / 10), 1e-12);
  EXPECT_NEAR(errors.level.item<double>(), std::sqrt(variance * (0.2 + 4. / 10)), 1e-12);
  EXPECT_NEAR(parameter_covariance(residual, sol.value)(0, 1).item<double>(), -variance * 2. / 10, 1e-12);
}

TEST(LeastSquares, ParametersThatNothingTellsHaveInfiniteErrors) {
  const Array data = array({1., 2., 4., 3.});
  auto constant = [&](const Decay& d) { return d.level + 0. * d.rate - data; };
  const Decay errors = standard_errors(constant, Decay{2.5, 0.});
  EXPECT_NEAR(errors.level.item<double>(), std::sqrt(5. / 2 / 4), 1e-12);
  EXPECT_EQ(errors.rate.item<double>(), INFINITY);
  // Of two that count only together neither is known.
  auto together = [&](const Decay& d) { return d.level + d.rate - data; };
  const Decay both = standard_errors(together, Decay{2., 0.5});
  EXPECT_EQ(both.level.item<double>(), INFINITY);
  EXPECT_EQ(both.rate.item<double>(), INFINITY);
}

TEST(LeastSquares, ShortStepsToWhatIsNotFiniteAreNoSolution) {
  auto alone = [](const Array& x) { return where(x == 1., x + 1., NAN); };
  auto check = [&](const auto& solver) {
    auto sol = least_squares(alone, solver, array({1.}), {.throw_ = false});
    EXPECT_EQ(sol.result.template item<std::int64_t>(),
              static_cast<std::int64_t>(NonlinearResult::NonFinite));
    EXPECT_EQ(sol.value[0].template item<double>(), 1.);
  };
  check(LevenbergMarquardt{});
  check(Dogleg{});
  check(GaussNewton{});
}

TEST(LeastSquares, RefusesScalesWithoutEnd) {
  EXPECT_EQ(error_of([] {
              least_squares([](const Array& x) { return x; }, LevenbergMarquardt{}, array({1.}),
                            {.loss = RobustLoss::Huber, .f_scale = INFINITY});
            }),
            "[least_squares] f_scale = inf must be above 0 and finite");
}

// Of linear residuals a step of Gauss and Newton is the shortest solution, whatever the rank, for few columns
// and for many; a lane whose rank is not full is told from the others.
TEST(LeastSquares, StepsOfMatricesWithoutFullRankAreTheShortest) {
  const auto check = [](std::int64_t rows, std::int64_t columns) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const Array a = random::normal(random::key(rows + columns), {rows, columns});
    const Array b = random::normal(random::key(7), {rows}), first = expand_dims(a(range(), 0), 1);
    const Array twice = concatenate({first, 3. * first, a(range(), range(2, {}))}, 1);
    const Array nothing = a * (arange(columns) != 1);
    const Array combined = concatenate(
        {a(range(), range({}, -1)), expand_dims(matmul(a(range(), range({}, -1)), ones({columns - 1})), 1)},
        1);
    const Array all = stack({a, twice, nothing, combined, zeros({rows, columns})});
    const auto step = [&](const Array& m) {
      const auto residual = [&](const Array& x) { return matmul(m, x) - b; };
      return least_squares(residual, GaussNewton{}, zeros({columns}), {.max_steps = 1, .throw_ = false})
          .value;
    };
    const Array found = jit(vmap(step))(all);
    for (std::int64_t i = 0; i < all.dim(0); ++i) {
      // Lengths count by those of the columns.
      const Array lengths = sqrt(sum(square(all[i]), {.axis = 0})), d = where(lengths > 0., lengths, 1.);
      const Array shortest = linalg::lstsq(all[i] / d, b).x / d;
      // Conditions of some tens.
      EXPECT_LT(max(abs(found[i] - shortest)).item<double>(), 1e-11) << i;
      EXPECT_TRUE(array_equal(found[i], jit(step)(all[i])).item<bool>()) << i;
    }
  };
  check(7, 3);
  check(3, 5);
  check(20, 9);
  check(30, 20);
  check(12, 18);
  check(50, 40);
  check(10, 34);
}

// The derivatives of the steps end where those of the equation are: for few unknowns, and for more, whose
// triangles are made in a loop.
TEST(LeastSquares, UnrolledDerivativesAreThoseOfTheEquation) {
  for (std::int64_t n : {3, 10}) {
    const Array a = random::normal(random::key(n), {2 * n, n}),
                y = 0.3 * random::normal(random::key(1), {2 * n});
    const auto end = [&](SolveAdjoint adjoint) {
      return [&, adjoint](const Array& data) {
        const auto residual = [&](const Array& x) { return sin(matmul(a, x)) - data; };
        return sum(square(
            least_squares(residual, LevenbergMarquardt{}, zeros({n}), {.max_steps = 30, .adjoint = adjoint})
                .value));
      };
    };
    const Array by_equation = jit(grad(end(SolveAdjoint::Implicit)))(y);
    EXPECT_LT(max(abs(jit(grad(end(SolveAdjoint::Unrolled)))(y) - by_equation)).item<double>(), 1e-6) << n;
    EXPECT_LT(max(abs(jit(jacfwd(end(SolveAdjoint::Unrolled)))(y) - by_equation)).item<double>(), 1e-6) << n;
  }
}

TEST(LeastSquares, MoreUnknownsThanResiduals) {
  auto sol =
      least_squares([](const Array& x) { return stack({x[0] + x[1] - 2.}); }, GaussNewton{}, zeros({2}));
  EXPECT_NEAR(sol.value[0].item<double>(), 1, 1e-12);
  EXPECT_NEAR(sol.value[1].item<double>(), 1, 1e-12);
}

}  // namespace
