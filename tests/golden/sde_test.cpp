// Stochastic solvers against Diffrax.

#include "diffeq/any_solver.hpp"
#include "golden/arrays.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using golden::expect_same;
using golden::to_array;

std::string golden_file(const char* name) { return std::string(APSIS_SOURCE_DIR) + "/tests/golden/" + name; }

struct Inputs {
  Array p, y0;
};
struct Drift {
  Array p;
  Array operator()(const Array& t, const Array& y) const {
    return stack({p[0] * y[0] * cos(t) - y[1], p[1] - y[0] * y[1]});
  }
};

Whole solver_named(const std::string& name) {
  if (name == "half_euler_heun") return any<Whole>(HalfSolver{EulerHeun{}});
  for (const Stochastic& s : stochastic_solvers())
    if (s.name == name) return s.solver;
  throw std::runtime_error("no solver " + name);
}

/// The solve of a case, see the head of sde.txt.
Solution<Array> solution_of(const Case& c, const Inputs& in, double tol, const Array& dt0,
                            const SolveOptions& options) {
  const std::string& noise = c.text.at("noise");
  const Whole solver = solver_named(c.name);
  const Shape shape = noise == "general" ? Shape{3} : noise == "scalar" ? Shape{} : Shape{2};
  const VirtualBrownianTree path(0., 1., tol, shape, random::key(c["seed"].integers[0]),
                                 {.levy_area = solver.traits().levy_area});
  const auto solve = [&](const auto& field) {
    return diffeqsolve(MultiTerm{ODETerm{Drift{in.p}}, ControlTerm{field, path}}, solver, 0., 1., dt0, in.y0,
                       options);
  };
  const Array p = in.p;
  if (noise == "diagonal")
    return solve([=](const Array&, const Array& y) {
      return Diagonal{stack({p[2] * y[0], p[2] * sin(y[1])})};
    });
  if (noise == "scalar")
    return solve([=](const Array&, const Array& y) { return stack({p[2] * y[1], -p[2] * y[0]}); });
  if (noise == "additive")
    return solve([=](const Array& t, const Array&) {
      return stack({stack({p[2] * (1. + t), 0.2 + 0. * t}), stack({0.1 * cos(t), p[2]})});
    });
  return solve([=](const Array&, const Array& y) {
    return stack({stack({p[2] * y[0], y[1], 0.3}), stack({0.2, p[2] * y[0] * y[1], y[0]})});
  });
}

void check_steps(const Case& c) {
  const Array steps = to_array(c["steps"]);
  const SolveOptions options{.controller = StepTo{steps}, .saveat = {.ts = steps[range(1, {})]}};
  const auto run = [&](const Inputs& in) { return solution_of(c, in, 1. / 64, {}, options).ys; };
  const auto loss = [&](const Inputs& in) {
    const Array end = run(in)[-1];
    return sum(to_array(c["weights"]) * end * end);
  };
  const Inputs in{to_array(c["parameters"]), to_array(c["y0"])};
  expect_same(jit(run)(in), c["ys"], 1e-11, "ys");
  const Inputs gradient = jit(grad(loss))(in);
  expect_same(gradient.p, c["grad_parameters"], 1e-9, "gradient by the parameters");
  expect_same(gradient.y0, c["grad_y0"], 1e-9, "gradient by y0");
}

void check_adaptive(const Case& c) {
  const Array tolerance = to_array(c["tolerance"]);
  const PIDController pid{.rtol = tolerance, .atol = tolerance};
  const std::int64_t store = c["store"].integers[0];
  SolveOptions options{.saveat = {.steps = 1}, .max_steps = 256};
  if (store > 0)
    options.controller = ClipStepSizeController{.controller = pid, .store_rejected_steps = store};
  else
    options.controller = pid;
  const Inputs in{to_array(c["parameters"]), to_array(c["y0"])};
  const auto sol = jit([&](const Inputs& x) { return solution_of(c, x, 0.5, 0.1, options); })(in);
  const auto accepted = sol.stats.num_accepted_steps.item<std::int64_t>();
  EXPECT_EQ(accepted, c["accepted"].integers[0]);
  EXPECT_EQ(sol.stats.num_rejected_steps.item<std::int64_t>(), c["rejected"].integers[0]);
  if (accepted != c["accepted"].integers[0]) return;
  // The end of a step carries the rounding of the one before, multiplied by the slope of the path there,
  // which has no bound at the ends of the tree's intervals: 2e-8 is reached once, near t1, 1e-9 nowhere else.
  // (Along a finer tree counts differ, as those of Diffrax do where dt0 is one unit in the last place
  // longer.)
  expect_same(Array(sol.ts[range({}, accepted)]), c["times"], 1e-7, "times");
  expect_same(Array(sol.ys[range({}, accepted)]), c["ys"], 1e-7, "ys");
}

TEST(GoldenStochastic, StepsAndGradientsEqualDiffrax) {
  int steps = 0, adaptive = 0;
  for (const Case& c : golden::read(golden_file("sde.txt"))) {
    const bool prescribed = c.text.at("kind") == "steps";
    SCOPED_TRACE(c.text.at("kind") + " " + c.text.at("noise") + " " + c.name);
    prescribed ? check_steps(c) : check_adaptive(c);
    ++(prescribed ? steps : adaptive);
  }
  EXPECT_EQ(steps, 39);
  EXPECT_EQ(adaptive, 28);
}

}  // namespace
}  // namespace apsis::testing
