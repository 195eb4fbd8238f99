// expect: this solver splits the equation
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(ODETerm{decay}, KenCarp3{}, 0., 1., 0.1, y0);
}
