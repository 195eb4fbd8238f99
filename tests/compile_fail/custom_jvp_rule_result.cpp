// expect: the rule of custom_jvp must return the pair of the function
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  (void)custom_jvp([](const Array& a) { return a; }, [](const Array&, const Array& da) { return da; })(x);
}
