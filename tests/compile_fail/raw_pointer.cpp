// expect: a raw pointer member of a transformed struct: hold the value itself or a std::shared_ptr<const T>
// expect: "shared"
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

struct Model {
  apsis::Array* shared;
};

void use(Model model) {
  apsis::for_each_leaf(model, [](apsis::Array&) {});
}
