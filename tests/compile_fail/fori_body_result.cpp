// expect: the body of a loop must return the type of its carry
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  (void)fori_loop(
      0, 3,
      [](const Array&, const Array& c) {
        return std::pair{c, c};
      },
      x);
}
