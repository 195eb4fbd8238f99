// expect: behind the options diffeqsolve takes requests of what to save: SubSaveAt(fn, {.ts = ts})
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y0, {.max_steps = 5}, SaveAt{.t0 = true});
}
