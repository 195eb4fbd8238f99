// Gradients by the adjoint equation against Diffrax's BacksolveAdjoint.

#include "diffeq/any_solver.hpp"
#include "golden/arrays.hpp"

namespace apsis::testing {
namespace {

using golden::expect_same;
using golden::to_array;

struct Inputs {
  Array p, y0;
};

TEST(GoldenBacksolve, GradientsEqualDiffrax) {
  for (const golden::Case& c : golden::read(std::string(APSIS_SOURCE_DIR) + "/tests/golden/backsolve.txt")) {
    SCOPED_TRACE(c.name);
    const auto number = [&](const char* key) { return c[key].real[0]; };
    const auto solve = [&](const Inputs& in) {
      const auto field = [p = in.p](const Array& t, const Array& y) {
        return stack({p[0] * y[0] * cos(t), p[1] - y[1] * y[2], y[1] * y[2] - 0.1 * y[2]});
      };
      for (const Named& n : whole_solvers())
        if (n.name == c.name)
          return diffeqsolve(ODETerm{field}, n.solver, number("t0"), number("t1"), number("dt0"), in.y0,
                             {.saveat = {.ts = to_array(c["ts"])}, .adjoint = Adjoint::Backsolve})
              .ys;
      throw std::runtime_error("no solver " + c.name);
    };
    const auto loss = [&](const Inputs& in) {
      const Array ys = solve(in);
      return sum(to_array(c["weights"]) * ys * ys);
    };
    const Inputs in{to_array(c["parameters"]), to_array(c["y0"])};
    expect_same(jit(solve)(in), c["ys"], 1e-11, "ys");
    const Inputs gradient = jit(grad(loss))(in);
    expect_same(gradient.p, c["grad_parameters"], 1e-9, "gradient by the parameters");
    expect_same(gradient.y0, c["grad_y0"], 1e-9, "gradient by y0");
  }
}

}  // namespace
}  // namespace apsis::testing
