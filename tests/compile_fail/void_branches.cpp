// expect: each branch must return its results
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  cond(
      x > 0., [](const Array& a) { (void)(a + 1.); }, [](const Array& a) { (void)(a - 1.); }, x);
}
