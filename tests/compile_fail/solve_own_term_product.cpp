// expect: a term of your own needs product(field, control)
#include <apsis/apsis.hpp>

using namespace apsis;

struct Own {
  Array vector_field(const Array&, const Array& y) const { return y; }
  Array control(const Array& t0, const Array& t1) const { return t1 - t0; }
  std::pair<Array, Array> product(const Array& field, const Array& dt) const { return {field, dt}; }
};
void use(const Array& y0) { (void)diffeqsolve(Own{}, Euler{}, 0., 1., 0.1, y0); }
