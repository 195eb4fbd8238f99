// expect: a const or reference member of a transformed struct: its value cannot be replaced, hold it by value
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

struct Model {
  const apsis::Array weight;
};

void use(const Model& model) {
  apsis::for_each_leaf(model, [](const apsis::Array&) {});
}
