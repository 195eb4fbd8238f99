// expect: a transformed callable changes itself: its call operator must be const (a lambda not `mutable`)
#include <apsis/apsis.hpp>

void use(const apsis::Array& x) {
  auto f = [count = 0](const apsis::Array& a) mutable { return ++count, a; };
  (void)apsis::jit(f)(x);
}
