// expect: a pointer or view in a `Static`, or as the key of a map
#include <apsis/apsis.hpp>

using namespace apsis;

struct Model {
  Array a;
  Static<const char*> name;
};

void use(const Array& x) {
  (void)jit([](const Model& m) { return m.a; })(Model{x, {"a"}});
}
