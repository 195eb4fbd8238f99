// expect: this solver is for underdamped Langevin diffusion
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(ODETerm{decay}, ALIGN{}, 0., 1., 0.1, y0);
}
