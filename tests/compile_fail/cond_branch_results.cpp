// expect: all branches must return the same type
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  (void)cond(
      true, [](const Array& c) { return c; },
      [](const Array& c) {
        return std::pair{c, c};
      },
      x);
}
