// Solves on prescribed steps, their gradients, and adaptive solves, against
// Diffrax.
#include <apsis/apsis.hpp>

#include "golden/arrays.hpp"

namespace {

using namespace apsis;
using golden::Case;
using golden::expect_same;
using golden::to_array;

const std::string folder = std::string(APSIS_SOURCE_DIR) + "/tests/golden/";

struct LotkaVolterra {
  Array alpha, beta, gamma, delta;
  double forcing = 0;
  Array operator()(const Array& t, const Array& y) const {
    auto [u, v] = unstack<2>(y);
    return stack({u * (alpha * (1 + forcing * sin(t)) - beta * v), v * (delta * u - gamma)});
  }
};

/// What the golden loss is differentiated by; see the head of solves.txt.
struct Inputs {
  Array parameters, y0, t0, t1, ts, interior;
};

template <class Solver>
Solution<Array> solve(Solver solver, double forcing, const Inputs& in) {
  auto p = unstack<4>(in.parameters);
  Array steps = concatenate({reshape(in.t0, {1}), in.interior, reshape(in.t1, {1})});
  auto field = [=](const Array& t, const Array& y) {
    return LotkaVolterra{p[0], p[1], p[2], p[3], forcing}(t, y);
  };
  return diffeqsolve(ODETerm{field}, solver, in.t0, in.t1, {}, in.y0,
                     {.controller = StepTo{steps}, .saveat = {.ts = in.ts, .t1 = true}});
}

template <class Solver>
void check_prescribed(Solver solver, const Case& c) {
  const double forcing = c["forcing"].real[0];
  Array steps = to_array(c["steps"]);
  Inputs in{to_array(c["parameters"]), to_array(c["y0"]),  steps[0], steps[-1],
            to_array(c["ts"]),         steps(range(1, -1))};
  auto run = jit([=](const Inputs& i) { return solve(solver, forcing, i).ys; });
  Array ys = run(in);
  expect_same(ys(range({}, -1)), c["ys"], 1e-12, "ys");
  expect_same(ys[-1], c["y1"], 1e-12, "y1");
  auto loss = [=](const Inputs& i) { return sum(square(log(solve(solver, forcing, i).ys))); };
  auto [value, g] = jit(value_and_grad(loss))(in);
  expect_same(value, c["loss"], 1e-12, "loss");
  expect_same(g.parameters, c["grad_parameters"], 1e-10, "gradient by the parameters");
  expect_same(g.y0, c["grad_y0"], 1e-10, "gradient by y0");
  expect_same(g.t0, c["grad_t0"], 1e-10, "gradient by t0");
  expect_same(g.t1, c["grad_t1"], 1e-10, "gradient by t1");
  expect_same(g.ts, c["grad_ts"], 1e-10, "gradient by the save times");
  // What is left of these when terms of order one cancel is the error of the method.
  expect_same(g.interior, c["grad_interior"], 1e-10, "gradient by the interior step times", 1);
}

template <class Visit>
void with_solver(const std::string& name, Visit&& visit) {
  if (name == "euler") return visit(Euler{});
  if (name == "heun") return visit(Heun{});
  if (name == "bosh3") return visit(Bosh3{});
  if (name == "tsit5") return visit(Tsit5{});
  if (name == "dopri5") return visit(Dopri5{});
  FAIL() << "no solver " << name;
}

TEST(golden_diffeq, prescribed_steps_equal_diffrax) {
  auto cases = golden::read(folder + "solves.txt");
  EXPECT_EQ(cases.size(), 20u);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    with_solver(c.text.at("solver"), [&](auto solver) { check_prescribed(solver, c); });
  }
}

/// The right-hand sides of adaptive.txt.
Array slope(const std::string& problem, double mu, const Array& y) {
  if (problem == "decay") return -y;
  if (problem == "stiff") return -1000. * y;
  if (problem == "lorenz") {
    auto [u, v, w] = unstack<3>(y);
    return stack({10. * (v - u), u * (28. - w) - v, u * v - 8. / 3. * w});
  }
  auto [u, v] = unstack<2>(y);
  if (problem == "oscillator") return stack({v, -u});
  if (problem == "vanderpol") return stack({v, mu * (1. - square(u)) * v - u});
  return stack({0.55 * u - 0.028 * u * v, 0.024 * u * v - 0.8 * v});
}

TEST(golden_diffeq, adaptive_solves_take_the_steps_of_diffrax) {
  for (const Case& c : golden::read(folder + "adaptive.txt")) {
    const std::string about = c.name + " by " + c.text.at("solver") + ", dt0 by " + c.text.at("dt0");
    SCOPED_TRACE(about);
    const double mu = c.has("mu") ? c["mu"].real[0] : 0;
    auto field = [=](const Array&, const Array& y) { return slope(c.name, mu, y); };
    auto number = [&](const char* key) { return c[key].real[0]; };
    const auto& pid = c["coefficients"].real;
    PIDController controller{
        .rtol = number("rtol"), .atol = number("atol"), .pcoeff = pid[0], .icoeff = pid[1], .dcoeff = pid[2]};
    // The rule's own first step, when it is asked for: the golden one was
    // computed by the script.
    Array dt0 = c.text.at("dt0") == "rule" ? Array() : Array(number("dt0"));
    // Every step's length depends on the last one's error estimate, so rounding grows from 1e-16 to about
    // 1e-8 on the way; another formula would show in the first digits, and in the counts. Chaos makes
    // rounding into digits after t = 2: counts of the long Lorenz solves may differ by a few steps.
    const bool chaotic = c.name == "lorenz" && number("t1") > 2;
    with_solver(c.text.at("solver"), [&](auto solver) {
      auto sol = diffeqsolve(ODETerm{field}, solver, number("t0"), number("t1"), dt0, to_array(c["y0"]),
                             {.controller = controller, .saveat = {.steps = 1}, .max_steps = 4096});
      const auto accepted = sol.stats.num_accepted_steps.template item<std::int64_t>();
      const auto rejected = sol.stats.num_rejected_steps.template item<std::int64_t>();
      EXPECT_NEAR(static_cast<double>(accepted), static_cast<double>(c["accepted"].integers[0]),
                  chaotic ? 4 : 0);
      EXPECT_NEAR(static_cast<double>(rejected), static_cast<double>(c["rejected"].integers[0]),
                  chaotic ? 4 : 0);
      expect_same(sol.ys[accepted - 1], c["y1"], chaotic ? 1e-6 : 1e-7, "y1");
      const std::int64_t times = c["times"].shape[0], states = c["states"].shape[0];
      expect_same(sol.ts(range(0, times)), c["times"], 1e-7, "times");
      expect_same(sol.ys(range(0, states)), c["states"], 1e-7, "states");
    });
  }
}

}  // namespace
