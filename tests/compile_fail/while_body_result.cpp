// expect: the body of while_loop must return the type of its state
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  (void)while_loop([](const Array& c) { return c < 1.; }, [](const Array& c) { return std::pair{c, c}; }, x);
}
