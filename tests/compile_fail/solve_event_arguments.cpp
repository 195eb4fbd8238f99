// expect: the condition or the change of an event is called with (t, y)
#include <apsis/apsis.hpp>

using namespace apsis;

void use() {
  (void)Event{[](const Array& y) { return y[0]; }};
}
