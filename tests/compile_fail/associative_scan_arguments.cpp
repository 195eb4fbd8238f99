// expect: associative_scan calls its operation as f(a, b)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  auto ys = associative_scan([](const Array& a) { return a; }, x);
  (void)ys;
}
