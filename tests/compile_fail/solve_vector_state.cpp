// expect: array({1., 2.}) and array(vector) make Arrays of numbers
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)y0;
  (void)diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, std::vector<double>{1., 2.});
}
