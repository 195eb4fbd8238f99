// Solvers of underdamped Langevin diffusion against Diffrax.

#include "apsis/apsis.hpp"
#include "golden/arrays.hpp"

namespace apsis::testing {
namespace {

using golden::Case;
using golden::expect_same;
using golden::to_array;

struct Inputs {
  Array gamma, u, a;
};
using State = std::pair<Array, Array>;

template <class Solver>
void check(const Case& c, const Solver& solver) {
  const Array steps = to_array(c["steps"]);
  const auto states = [&](const Inputs& in) {
    const VirtualBrownianTree path(0., 1., 1. / 64, {2}, random::key(c["seed"].integers[0]),
                                   {.levy_area = LevyArea::SpaceTimeTime});
    const auto f = [a = in.a](const Array& x) {
      const Array well = x * x - 1.;
      return a * sum(well * well) / 4. + x[0] * x[1] / 2.;
    };
    const auto gradient = [f](const Array& x) { return grad(f)(x); };
    return diffeqsolve(underdamped_langevin(in.gamma, in.u, gradient, path), solver, 0., 1., {},
                       State{to_array(c["x0"]), to_array(c["v0"])},
                       {.controller = StepTo{steps}, .saveat = {.ts = steps[range(1, {})]}})
        .ys;
  };
  const auto loss = [&](const Inputs& in) {
    const auto [x, v] = states(in);
    return sum(x[-1] * x[-1]) + 2. * sum(v[-1] * v[-1]);
  };
  const Inputs in{to_array(c["gamma"]), to_array(c["u"]), to_array(c["a"])};
  const State found = jit(states)(in);
  // Diffrax' coefficients by formulas lose the digits of 1 / (γ h)⁴, which is up to 65536; those of Lévy
  // areas are multiplied by hundredths.
  const double tolerance = c.text.at("kind") == "exact" ? 1e-10 : 1e-11;
  expect_same(found.first, c["xs"], tolerance, "xs");
  expect_same(found.second, c["vs"], tolerance, "vs");
  const Inputs gradient = jit(grad(loss))(in);
  expect_same(gradient.gamma, c["grad_gamma"], 1e-9, "gradient by gamma");
  expect_same(gradient.u, c["grad_u"], 1e-9, "gradient by u");
  expect_same(gradient.a, c["grad_a"], 1e-9, "gradient by a");
}

TEST(GoldenLangevin, StepsAndGradientsEqualDiffrax) {
  int cases = 0;
  for (const Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/langevin.txt")) {
    SCOPED_TRACE(c.name + " " + c.text.at("kind"));
    if (c.name == "align") check(c, ALIGN{});
    if (c.name == "should") check(c, ShOULD{});
    if (c.name == "quicsort") check(c, QUICSORT{});
    if (c.name == "euler_heun") check(c, EulerHeun{});
    ++cases;
  }
  EXPECT_EQ(cases, 7);
}

}  // namespace
}  // namespace apsis::testing
