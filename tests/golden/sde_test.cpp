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

TEST(GoldenStochastic, StepsAndGradientsEqualDiffrax) {
  int cases = 0;
  for (const Case& c : golden::read(golden_file("sde.txt"))) {
    SCOPED_TRACE(c.text.at("noise") + " " + c.name);
    check_steps(c);
    ++cases;
  }
  EXPECT_EQ(cases, 39);
}

}  // namespace
}  // namespace apsis::testing
