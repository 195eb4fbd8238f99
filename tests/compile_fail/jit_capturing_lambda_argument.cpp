// expect: a lambda that captures inside a transformed struct or its arguments: write a struct whose members are the captures
#include <apsis/apsis.hpp>

void use(const apsis::Array& x) {
  auto apply = [](auto f, const apsis::Array& a) { return f(a); };
  auto scale = [x](const apsis::Array& a) { return a * x; };
  (void)apsis::jit(apply)(scale, x);
}
