// expect: a lambda that captures inside a transformed struct or its arguments: write a struct whose members are the captures
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

void use(apsis::Array rate) {
  auto field = [rate](const apsis::Array&) { return rate; };
  apsis::for_each_leaf(field, [](apsis::Array&) {});
}
