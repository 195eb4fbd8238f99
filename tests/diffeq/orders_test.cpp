// Solvers have their orders, at the end of the solve and within steps, on two problems with known solutions.

#include <cmath>
#include <map>

#include "diffeq/any_solver.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

/// How long the problems are solved: methods of high order for a short time, so that steps whose errors are
/// above rounding are short enough for the order to show.
double end_of(int order) { return order == 9 ? 1 : order == 8 ? 2 : 3; }

/// Errors at t1, and the greatest at inner points that are the same parts of each step, however long.
struct Errors {
  double at_end, inside;
};
Errors errors(const Array& ys, const Array& exact) {
  const Array off = abs(ys - exact);
  return {max(off[-1]).item<double>(), max(off[range({}, -1)]).item<double>()};
}
Array inner_times(std::int64_t steps, double end) { return linspace(0., end, 8 * steps + 1); }

/// The order that errors at steps h, h/2 and h/4 show. With the error C h^p (1 + D h + …) the slope between
/// two of them is p + O(h); the combination of both slopes takes that term out, which leaves O(h²).
double order_of(double coarse, double middle, double fine) {
  return 2 * std::log2(middle / fine) - std::log2(coarse / middle);
}
/// Steps so that the errors of all three lengths are far above rounding, at t1 and, where that differs,
/// inside.
std::int64_t steps_of(int order) {
  return order == 9 ? 2 : order == 8 ? 4 : order == 7 ? 12 : order == 5 ? 24 : order >= 3 ? 64 : 128;
}
/// `run(steps, end)` gives Errors.
template <class Run>
void expect_orders(const std::string& name, int order, int output, const Run& run) {
  const std::int64_t steps = steps_of(order), inner = order >= 8 ? 2 * steps : steps;
  const double end = end_of(order);
  std::map<std::int64_t, Errors> at;
  for (std::int64_t n : {steps, 2 * steps, 4 * steps, 4 * inner}) at.try_emplace(n, run(n, end));
  // What is left is of the order of h².
  EXPECT_NEAR(order_of(at[steps].at_end, at[2 * steps].at_end, at[4 * steps].at_end), order, 0.1)
      << name << " at t1";
  if (output >= 9) {
    // Weights up to 10⁴ round to 1e-12, which leaves one slope; conditions_test has the order itself.
    EXPECT_GT(std::log2(run(4, 3.).inside / run(8, 3.).inside), output - 0.1) << name << " inside";
    return;
  }
  EXPECT_NEAR(order_of(at[inner].inside, at[2 * inner].inside, at[4 * inner].inside), output, 0.1)
      << name << " inside";
}

/// y' = y cos t: exp(sin t); and u' = -u v, v' = u v: v = 2 / (1 + exp(-2 t)), u = 2 - v, if u = v = 1 at
/// first.
struct Problem {
  Array operator()(const Array& t, const Array& y) const {
    const Array product = y[1] * y[2];
    return stack({y[0] * cos(t), -product, product});
  }
  static Array exact(const Array& t) {
    const Array v = 2. / (1. + exp(-2. * t));
    return stack({exp(sin(t)), 2. - v, v}, -1);
  }
};

TEST(Orders, OfSolversOfWholeEquations) {
  // Newton's error is far below that of the steps.
  for (const Named& s : whole_solvers({.rtol = 1e-13, .atol = 1e-13, .kappa = 0.5, .max_steps = 50})) {
    const int order = s.solver.traits().order;
    expect_orders(s.name, order, s.output, [&](std::int64_t steps, double end) {
      const Array ts = inner_times(steps, end);
      const auto solve = [&](const Array& dt, const Array& times) {
        return diffeqsolve(ODETerm{Problem{}}, s.solver, 0., end, dt, array({1., 1., 1.}),
                           {.saveat = {.ts = times, .t1 = true}});
      };
      const auto sol = jit(solve)(array(end / static_cast<double>(steps)), ts);
      return errors(sol.ys, Problem::exact(sol.ts));
    });
  }
}

TEST(Orders, OfSolversThatSplit) {
  const int outputs[] = {3, 4, 4, 2, 4};
  int i = 0;
  for (const auto& [name, solver] :
       split_solvers({.rtol = 1e-13, .atol = 1e-13, .kappa = 0.5, .max_steps = 50})) {
    const int order = solver.traits().order;
    expect_orders(name, order, outputs[i++], [&](std::int64_t steps, double end) {
      const auto solve = [&](const Array& dt, const Array& times) {
        const auto first = [](const Array& t, const Array& y) {
          return stack({y[0] * cos(t), -y[1] * y[2], 0. * y[2]});
        };
        const auto second = [](const Array&, const Array& y) {
          return stack({0. * y[0], 0. * y[1], y[1] * y[2]});
        };
        return diffeqsolve(MultiTerm{ODETerm{first}, ODETerm{second}}, solver, 0., end, dt,
                           array({1., 1., 1.}), {.saveat = {.ts = times, .t1 = true}});
      };
      const auto sol = jit(solve)(array(end / static_cast<double>(steps)), inner_times(steps, end));
      return errors(sol.ys, Problem::exact(sol.ts));
    });
  }
}

// q' = p + t, p' = -q: q = 1 - cos t + 2 sin t, p = sin t + 2 cos t - t, if q = 0 and p = 2 at first; and
// q' = p, p' = 1 / q³: q = √(1 + t²), p = t / q, if q = 1 and p = 0 at first.
TEST(Orders, OfSymplecticSolvers) {
  const int outputs[] = {1, 2, 4};
  int i = 0;
  for (const auto& [name, solver] : partitioned_solvers()) {
    const int order = solver.traits().order;
    expect_orders(name, order, outputs[i++], [&](std::int64_t steps, double end) {
      const auto solve = [&](const Array& dt, const Array& times) {
        const auto f = [](const Array& t, const Array& p) { return stack({p[0] + t, p[1]}); };
        const auto g = [](const Array&, const Array& q) { return stack({-q[0], 1. / (q[1] * q[1] * q[1])}); };
        return diffeqsolve(std::pair{ODETerm{f}, ODETerm{g}}, solver, 0., end, dt,
                           std::pair{array({0., 1.}), array({2., 0.})},
                           {.saveat = {.ts = times, .t1 = true}});
      };
      const auto sol = jit(solve)(array(end / static_cast<double>(steps)), inner_times(steps, end));
      const Array t = sol.ts, q = 1. - cos(t) + 2. * sin(t), p = sin(t) + 2. * cos(t) - t;
      const Array root = sqrt(1. + t * t);
      return errors(concatenate({sol.ys.first, sol.ys.second}, 1), stack({q, root, p, t / root}, -1));
    });
  }
}

}  // namespace
}  // namespace apsis::testing
