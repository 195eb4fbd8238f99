// expect: a transformed callable takes an argument by a reference that is not const
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  (void)jit([](Array& c) { return c = c + 1.; })(x);
}
