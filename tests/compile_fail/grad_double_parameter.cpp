// expect: a `float` or `double` parameter of a transformed callable: use Array to trace it or Static<double> to bake it in
#include <apsis/apsis.hpp>

void use(const apsis::Array& x) {
  auto f = [](const apsis::Array& a, double) { return a; };
  (void)apsis::grad(f)(x, 2.);
}
