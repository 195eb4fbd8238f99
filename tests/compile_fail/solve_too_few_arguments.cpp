// expect: diffeqsolve takes (term, solver, t0, t1, dt0, y0, {options})
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., y0);
}
