// expect: a type whose value cannot be part of the cache key, in a `Static` or as the key of a map
#include <apsis/apsis.hpp>

#include <bitset>

using namespace apsis;

void use(const Array& x, const Static<std::bitset<8>>& mask) {
  (void)jit([](const Array& a, const Static<std::bitset<8>>&) { return a; })(x, mask);
}
