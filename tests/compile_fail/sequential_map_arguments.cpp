// expect: sequential_map calls its function as f(x)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  auto ys = sequential_map([](const Array& a, const Array& b) { return a + b; }, x);
  (void)ys;
}
