// expect: a struct with a base class has no reflection: list the fields with APSIS_FIELDS(Type, a, b, ...)
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

struct Layer {
  apsis::Array weight;
};
struct Linear : Layer {
  apsis::Array bias;
};

void use(Linear linear) {
  apsis::for_each_leaf(linear, [](apsis::Array&) {});
}
