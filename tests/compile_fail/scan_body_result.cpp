// expect: the body of scan must return std::pair{carry, y}
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  (void)scan([](const Array& c, const Array& v) { return c + v; }, 0., x);
}
