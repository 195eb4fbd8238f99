// expect: the function of a SubSaveAt is called as fn(t, y): it must take the time, an Array, and
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y0, {.max_steps = 5},
                    SubSaveAt([](const Array& y) { return sum(y); }));
}
