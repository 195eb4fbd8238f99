// expect: a C array member of a transformed struct: use std::array
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

struct Model {
  apsis::Array weight;
  apsis::Array biases[3];
  int order;
};

void use(Model model) {
  apsis::for_each_leaf(model, [](apsis::Array&) {});
}
