// expect: a type whose value cannot be part of the cache key, in a `Static` or as the key of a map
// expect: std::set<int>
#include <apsis/apsis.hpp>

#include <set>

using namespace apsis;

struct Model {
  Array a;
  Static<std::set<int>> kept;
};

void use(const Array& x) {
  (void)jit([](const Model& m) { return m.a; })(Model{x, {}});
}
