// expect: a type that is no tree inside a transformed struct: make it an aggregate, list its fields with APSIS_FIELDS
// expect: "handle"
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

class Handle {
 public:
  explicit Handle(int number) : number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};
struct Model {
  apsis::Array weight;
  Handle handle;
};

void use(Model model) {
  apsis::for_each_leaf(model, [](apsis::Array&) {});
}
