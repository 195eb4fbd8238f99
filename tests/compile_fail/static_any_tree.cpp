// expect: a `Static` of a type with Arrays
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x, const Static<AnyTree>& any) {
  (void)jit([](const Array& a, const Static<AnyTree>&) { return a; })(x, any);
}
