// Steps that were tried and rejected have no part in derivatives, even if they overflowed.

#include "apsis/apsis.hpp"
#include "transform/checks.hpp"

namespace apsis::testing {
namespace {

// y' = -p y⁹: y⁻⁸ grows by 8 p t. The first step, much too long, gives powers beyond all numbers.
Array decay(const Array& p, const Array& y0, const SolveOptions& options) {
  auto rhs = [p](const Array&, const Array& y) {
    Array y2 = y * y, y4 = y2 * y2;
    return -p * y4 * y4 * y;
  };
  SolveOptions o = options;
  o.controller = PIDController{.rtol = 1e-10, .atol = 1e-10};
  return diffeqsolve(ODETerm{rhs}, Tsit5{}, 0., 1., 1e6, y0, o).ys[-1];
}

TEST(RejectedSteps, ThatOverflowLeaveGradientsFinite) {
  const double p = 1.25, y0 = 2., rest = std::pow(y0, -8) + 8 * p;
  const double by_p = -std::pow(rest, -9. / 8.), by_y0 = std::pow(rest, -9. / 8.) * std::pow(y0, -9);
  for (std::int64_t checkpoints : {std::int64_t{0}, std::int64_t{4}}) {
    SCOPED_TRACE(checkpoints);
    auto f = [=](const Array& a, const Array& y) { return decay(a, y, {.checkpoints = checkpoints}); };
    auto [of_p, of_y0] = jit(grad<0, 1>(f))(array(p), array(y0));
    EXPECT_NEAR(of_p.item<double>(), by_p, 1e-8);
    EXPECT_NEAR(of_y0.item<double>(), by_y0, 1e-8);
    const Array many = jit(vmap(grad(f), {.in_axes = {{}, 0}}))(array(p), array({2., 1., 0.5}));
    EXPECT_TRUE(all(isfinite(many)).item<bool>());
    EXPECT_EQ(Array(many[0]).item<double>(), of_p.item<double>());
  }
}

}  // namespace
}  // namespace apsis::testing
