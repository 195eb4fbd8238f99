// expect: a bare `double` member of a transformed struct: use Array to trace it or Static<double> to bake it in
// expect: "gain"
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

struct Model {
  apsis::Array weight;
  double gain;
};

void use(Model model) {
  apsis::for_each_leaf(model, [](apsis::Array&) {});
}
