// expect: a lambda that captures in a `Static`
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x, int n) {
  auto power = [n](int k) { return n + k; };
  struct Model {
    Array a;
    Static<decltype(power)> of;
  };
  (void)jit([](const Model& m) { return m.a; })(Model{x, {power}});
}
