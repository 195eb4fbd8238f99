// expect: a pair of terms needs a pair as state y0
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(std::pair{ODETerm{decay}, ODETerm{decay}}, Yoshida4{}, 0., 1., 0.1, y0);
}
