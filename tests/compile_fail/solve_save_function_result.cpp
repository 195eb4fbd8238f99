// expect: the function of a SubSaveAt must return an Array, or a tree of Arrays such as your own struct
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)diffeqsolve(ODETerm{decay}, Tsit5{}, 0., 1., 0.1, y0, {.max_steps = 5},
                    SubSaveAt([](const Array&, const Array&) { return std::vector<double>{1.}; }));
}
