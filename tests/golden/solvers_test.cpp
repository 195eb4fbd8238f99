// Solvers of every family against Diffrax: steps at prescribed times with their gradients, and counts of
// adaptive solves.

#include "diffeq/any_solver.hpp"
#include "golden/arrays.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using golden::expect_same;
using golden::to_array;

// Equations within steps are solved to rounding, as in the script.
const NewtonOptions exact{.rtol = 1e-12, .atol = 1e-14, .kappa = 1e-3, .max_steps = 50};

Whole whole_named(const std::string& name) {
  for (const Named& s : whole_solvers(exact))
    if (s.name == name) return s.solver;
  throw std::runtime_error("no solver " + name);
}
Split split_named(const std::string& name) {
  for (const auto& [own, solver] : split_solvers(exact))
    if (own == name) return solver;
  throw std::runtime_error("no solver " + name);
}
Partitioned partitioned_named(const std::string& name) {
  for (const auto& [own, solver] : partitioned_solvers())
    if (own == name) return solver;
  throw std::runtime_error("no solver " + name);
}

struct Inputs {
  Array p, y0;
};

/// The equations of the cases with prescribed steps, see the head of solvers.txt: what is saved.
Array saved_states(const Case& c, const Inputs& in) {
  const auto& [p, y0] = in;
  const std::string& structure = c.text.at("structure");
  const Array steps = to_array(c["steps"]);
  const SolveOptions options{.controller = StepTo{steps}, .saveat = {.ts = to_array(c["ts"]), .t1 = true}};
  const Array t0 = steps[0], t1 = steps[-1];
  if (structure == "parts") {
    const auto f = [p = in.p](const Array& t, const Array& v) { return p[0] * v + t; };
    const auto g = [p = in.p](const Array&, const Array& q) { return -p[1] * q / pow(sum(q * q), 1.5); };
    const auto sol = diffeqsolve(std::pair{ODETerm{f}, ODETerm{g}}, partitioned_named(c.name), t0, t1, {},
                                 std::pair{y0[range(0, 2)], y0[range(2, 4)]}, options);
    return concatenate({sol.ys.first, sol.ys.second}, 1);
  }
  const auto f = [p = in.p](const Array& t, const Array& y) {
    return stack({p[0] * y[0] * cos(t), p[1], 0. * y[2]});
  };
  const auto g = [](const Array&, const Array& y) { return stack({0. * y[0], -y[1] * y[2], y[1] * y[2]}); };
  const MultiTerm sum_of_both{ODETerm{f}, ODETerm{g}};
  if (structure == "split") return diffeqsolve(sum_of_both, split_named(c.name), t0, t1, {}, y0, options).ys;
  return diffeqsolve(sum_of_both, whole_named(c.name), t0, t1, {}, y0, options).ys;
}

void check_steps(const Case& c) {
  const auto run = [&](const Inputs& in) { return saved_states(c, in); };
  const auto loss = [&](const Inputs& in) {
    const Array end = saved_states(c, in)[-1];
    return sum(to_array(c["weights"]) * end * end);
  };
  const Inputs in{to_array(c["parameters"]), to_array(c["y0"])};
  const Array ys = jit(run)(in);
  if (c.has("ys")) expect_same(ys[range({}, -1)], c["ys"], 1e-11, "ys");
  expect_same(ys[-1], c["y1"], 1e-11, "y1");
  const Inputs gradient = jit(grad(loss))(in);
  expect_same(gradient.p, c["grad_parameters"], 1e-9, "gradient by the parameters");
  expect_same(gradient.y0, c["grad_y0"], 1e-9, "gradient by y0");
}

Array robertson(const Array& y) {
  const Array first = 0.04 * y[0] - 1e4 * y[1] * y[2], second = 3e7 * y[1] * y[1];
  return stack({-first, first - second, second});
}

void check_adaptive(const Case& c) {
  const std::string& problem = c.text.at("problem");
  const auto number = [&](const char* key) { return c[key].real[0]; };
  const double mu = number("mu");
  const auto explicit_part = [&](const Array&, const Array& y) {
    return problem == "vanderpol" ? stack({y[1], 0. * y[1]}) : 0. * y;
  };
  const auto implicit_part = [&](const Array&, const Array& y) {
    if (problem == "robertson") return robertson(y);
    if (problem == "vanderpol") return stack({0. * y[0], mu * (1. - y[0] * y[0]) * y[1] - y[0]});
    return stack({y[1], -y[0]});
  };
  const MultiTerm term{ODETerm{explicit_part}, ODETerm{implicit_part}};
  const SolveOptions options{.controller = PIDController{.rtol = number("rtol"), .atol = number("atol")},
                             .max_steps = 100'000};
  const auto solve = [&](const Array& y0) {
    return c.text.at("structure") == "split"
               ? diffeqsolve(term, split_named(c.name), 0., number("t1"), number("dt0"), y0, options)
               : diffeqsolve(term, whole_named(c.name), 0., number("t1"), number("dt0"), y0, options);
  };
  const auto sol = jit(solve)(to_array(c["y0"]));
  EXPECT_EQ(sol.stats.num_accepted_steps.item<std::int64_t>(), c["accepted"].integers[0]);
  EXPECT_EQ(sol.stats.num_rejected_steps.item<std::int64_t>(), c["rejected"].integers[0]);
  // Rounding in the error estimates changes the lengths of steps, and the end by that much of its error.
  expect_same(sol.ys[-1], c["y1"], 1e-7, "y1");
}

TEST(GoldenSolvers, StepsGradientsAndCountsEqualDiffrax) {
  int steps = 0, adaptive = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/solvers.txt")) {
    const bool prescribed = c.text.at("kind") == "steps";
    SCOPED_TRACE((prescribed ? "steps " : "adaptive " + c.text.at("problem") + " ") + c.name);
    prescribed ? check_steps(c) : check_adaptive(c);
    ++(prescribed ? steps : adaptive);
  }
  EXPECT_EQ(steps, 30);
  EXPECT_EQ(adaptive, 31);
}

}  // namespace
}  // namespace apsis::testing
