// expect: a parameter of a transformed callable is a container of numbers: use Array, and pass array(v)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const std::vector<double>& v) {
  (void)jit([](const std::vector<double>& a) { return array(a); })(v);
}
