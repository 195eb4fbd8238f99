// expect: a raw pointer or view as a member of a transformed struct: hold the value itself (std::string, std::vector)
// expect: "name"
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

struct Model {
  apsis::Array weight;
  std::string_view name;
};

void use(Model model) {
  apsis::for_each_leaf(model, [](apsis::Array&) {});
}
