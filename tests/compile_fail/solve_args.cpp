// expect: diffeqsolve passes nothing on to the vector field but time and state
#include <apsis/apsis.hpp>

using namespace apsis;

Array decay(const Array&, const Array& y, const Array& rate) { return -rate * y; }

void use(const Array& y0, const Array& rate) {
  (void)diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y0, rate, {.max_steps = 10});
}
