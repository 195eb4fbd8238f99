// expect: the terms of underdamped Langevin diffusion take the state std::pair{x, v}
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0, const Array& key) {
  const auto gradient = [](const Array& x) { return x; };
  (void)diffeqsolve(underdamped_langevin(1., 1., gradient, UnsafeBrownianPath({2}, key)), Euler{}, 0., 1.,
                    0.1, y0);
}
