// expect: a bare `double` member of a transformed struct: use Array to trace it or Static<double> to bake it in
// expect: std::vector<double>
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

struct Model {
  apsis::Array weight;
  std::vector<double> times;
};

void use(const Model& model, apsis::StaticKey& key) { apsis::append_static_key(model, key); }
