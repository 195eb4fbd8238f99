// expect: a DelayTerm calls its vector field as f(t, y, past)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto field = [](const Array& t, const Array& y) { return -y * t; };
  const auto before = [](const Array& t) { return t; };
  (void)diffeqsolve(DelayTerm{field, before, {1.}}, Tsit5{}, 0., 1., 0.1, y0);
}
