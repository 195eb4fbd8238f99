// expect: the change of an event must return a state, of the type that it takes
#include <apsis/apsis.hpp>

using namespace apsis;

struct State {
  Array x;
};
void use() {
  (void)EventChange{[](const Array&, const State& y) { return y.x; }};
}
