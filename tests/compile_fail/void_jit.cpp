// expect: a transformed function must return its results
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  jit([](const Array& a) { (void)(a + 1.); })(x);
}
