// expect: the condition or the change of an event must say the types of its parameters, not auto
#include <apsis/apsis.hpp>

using namespace apsis;

void use() {
  (void)Event{[](const auto&, const auto& y) { return y[0]; }};
}
