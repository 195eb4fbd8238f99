// expect: a bare `float` member of a transformed struct: use Array to trace it or Static<float> to bake it in
// expect: "rate"
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

namespace {
struct Layer {
  apsis::Array weight;
  float rate;
};
struct Model {
  std::vector<Layer> layers;
};
}  // namespace

void use() { apsis::flatten(Model{}); }
