// expect: pairs of terms are for solvers such as
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(std::pair{ODETerm{decay}, ODETerm{decay}}, Tsit5{}, 0., 1., 0.1, std::pair{y0, y0});
}
