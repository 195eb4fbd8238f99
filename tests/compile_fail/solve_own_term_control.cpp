// expect: a term of your own needs control(t0, t1)
#include <apsis/apsis.hpp>

using namespace apsis;

struct Own {
  Array vector_field(const Array&, const Array& y) const { return y; }
  Array product(const Array& field, const Array& dt) const { return field * dt; }
};
void use(const Array& y0) { (void)diffeqsolve(Own{}, Euler{}, 0., 1., 0.1, y0); }
