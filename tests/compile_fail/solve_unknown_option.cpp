// expect: SolveOptions
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y0,
                    {.stepsize_controller = PIDController{.rtol = 1e-6, .atol = 1e-9}});
}
