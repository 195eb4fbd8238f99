// expect: cond and switch_ call their branches with the operands that follow them
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  cond(
      x > 0., [](const Array& a) { return a; }, [](const Array& a, const Array& b) { return a + b; }, x, x);
}
