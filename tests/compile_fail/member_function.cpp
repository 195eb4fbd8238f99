// expect: a pointer to a member function as transformed callable: write a lambda
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  struct Model {
    Array mass;
    Array energy(const Array& v) const { return mass * v * v; }
  };
  (void)jit (&Model::energy)(Model{x}, x);
}
