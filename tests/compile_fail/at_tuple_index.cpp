// expect: a tuple is indexed at compile time: write at(tree, nth<1>) instead of at(tree, 1)
#include <tuple>

#include "apsis/core/array.hpp"
#include "apsis/tree/at.hpp"

void use(std::tuple<apsis::Array, int> tree) { (void)apsis::at(tree, 1).get(); }
