// expect: diffeqsolve takes the term first, then the solver
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(Tsit5{}, ODETerm{decay}, 0., 1., 0.1, y0);
}
