// expect: a std::vector of numbers among the arguments of a transformed function: write array(v)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const std::vector<double>& v) {
  (void)vmap([](const auto& a) { return 2. * a; })(v);
}
