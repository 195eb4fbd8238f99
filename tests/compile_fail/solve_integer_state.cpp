// expect: the state y0 of diffeqsolve is an integer: states are floating, write 1. instead of 1
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)y0;
  (void)diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, 1);
}
