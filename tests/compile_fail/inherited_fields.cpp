// expect: this class inherits APSIS_FIELDS from its base: give it an APSIS_FIELDS(Type, ...) of its own
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

struct Layer {
  APSIS_FIELDS(Layer, weight)
  apsis::Array weight;
};
struct Linear : Layer {
  apsis::Array bias;
};

void use(Linear linear) {
  apsis::for_each_leaf(linear, [](apsis::Array&) {});
}
