// expect: a type with a static method() that returns its RungeKutta table
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  struct Mine {};
  (void)diffeqsolve(ODETerm{decay}, Mine{}, 0., 1., 0.1, y0);
}
