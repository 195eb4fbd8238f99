// expect: a transformed function is called with other arguments than it takes: more, or fewer
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  (void)compile([](const Array& a, const Array& b) { return a * b; }, x);
}
