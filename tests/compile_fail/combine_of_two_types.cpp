// expect: trees that are combined leaf by leaf must be of one type
#include "apsis/core/array.hpp"
#include "apsis/tree/filter.hpp"

struct A {
  apsis::Array x;
};
struct B {
  apsis::Array x;
};

void use() { apsis::combine(A{}, A{}, B{}); }
