// expect: a DelayTerm stands alone: put what the other terms say into its vector field f(t, y, past)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  const auto late = [](const Array& t, const Array&, const Past<Array>& past) { return -past(t - 1.); };
  const auto before = [](const Array& t) { return t; };
  (void)diffeqsolve(MultiTerm{ODETerm{decay}, DelayTerm{late, before, {1.}}}, Tsit5{}, 0., 1., 0.1, y0);
}
