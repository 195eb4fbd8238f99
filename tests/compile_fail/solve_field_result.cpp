// expect: the vector field of diffeqsolve must return the slope, of the type of the state y0
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& y0) {
  const auto decay = [](const Array&, const Array& y) { return -y; };
  (void)decay;
  (void)diffeqsolve(ODETerm{[](const Array&, const Array& y) {
                      return std::pair{y, y};
                    }},
                    Tsit5{}, 0., 1., 0.1, y0);
}
