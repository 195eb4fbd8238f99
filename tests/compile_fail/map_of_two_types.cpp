// expect: trees that are combined leaf by leaf must be of one type
#include "apsis/core/array.hpp"
#include "apsis/tree/map.hpp"

struct A {
  apsis::Array x;
};
struct B {
  apsis::Array x;
};

void use() {
  apsis::tree_map([](const apsis::Array& x, const apsis::Array&) { return x; }, A{}, B{});
}
