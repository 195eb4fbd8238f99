// expect: the rule of custom_jvp is called as rule(x, dx)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  (void)custom_jvp([](const Array& a) { return a; }, [](const Array& a) { return a; })(x);
}
