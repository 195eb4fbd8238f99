// expect: the condition of an event is called as condition(t, y)
#include <apsis/apsis.hpp>

using namespace apsis;

void use() {
  (void)Event{[](const Array& y) { return y[0]; }};
}
