// expect: a bare `double` member of a transformed struct: use Array to trace it or Static<double> to bake it in
// expect: "gain"
#include <apsis/apsis.hpp>

struct Model {
  apsis::Array weight;
  double gain;
};

void use(const Model& model) {
  auto loss = [](const Model& m) { return m.weight; };
  (void)apsis::jit(apsis::grad(loss))(model);
}
