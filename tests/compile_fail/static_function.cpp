// expect: a type whose value cannot be part of the cache key, in a `Static` or as the key of a map
#include <apsis/apsis.hpp>

#include <functional>

using namespace apsis;

struct Model {
  Array a;
  Static<std::function<int(int)>> count;
};

void use(const Array& x) {
  (void)compile([](const Model& m) { return m.a; }, Model{x, {}});
}
