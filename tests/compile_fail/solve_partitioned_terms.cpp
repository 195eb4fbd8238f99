// expect: this solver takes q' = f(t, p), p' = g(t, q)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(ODETerm{decay}, Yoshida4{}, 0., 1., 0.1, y0);
}
