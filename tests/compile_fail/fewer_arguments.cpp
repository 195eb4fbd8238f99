// expect: a transformed function is called with other arguments than it takes: more, or fewer
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  (void)jit(value_and_grad([](const Array& a, const Array& b) { return sum(a * b); }))(x);
}
