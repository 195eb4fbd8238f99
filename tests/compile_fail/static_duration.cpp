// expect: a type whose value cannot be part of the cache key, in a `Static` or as the key of a map
#include <apsis/apsis.hpp>

#include <chrono>

using namespace apsis;

struct Model {
  Array a;
  Static<std::chrono::milliseconds> step;
};

void use(const Array& x) {
  (void)jit([](const Model& m) { return m.a; })(Model{x, {}});
}
