// expect: diffeqsolve calls the vector field as f(t, y)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)decay;
  (void)diffeqsolve(ODETerm{[](const Array& y) { return -y; }}, Tsit5{}, 0., 1., 0.1, y0);
}
