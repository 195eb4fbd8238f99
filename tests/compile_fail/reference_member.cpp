// expect: a const or reference member of a transformed struct: its value cannot be replaced, hold it by value
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

struct Model {
  apsis::Array& weight;
  apsis::Array bias;
};

void use(Model model) {
  apsis::for_each_leaf(model, [](apsis::Array&) {});
}
