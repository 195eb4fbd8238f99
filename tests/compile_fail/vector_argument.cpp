// expect: a transformed function is called with other arguments than it takes: a std::vector of numbers is no Array, write array(v)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const std::vector<double>& v) {
  (void)jit(grad([](const Array& a) { return sum(a); }))(v);
}
