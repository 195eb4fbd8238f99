// expect: the vector field of a ControlTerm must return a tree of the type of the state y0
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0, const Array& key) {
  const auto field = [](const Array&, const Array& y) { return std::pair{y, y}; };
  (void)diffeqsolve(ControlTerm{field, UnsafeBrownianPath({2}, key)}, Euler{}, 0., 1., 0.1, y0);
}
