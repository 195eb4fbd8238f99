// expect: the forward rule of custom_vjp must return the pair
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  (void)custom_vjp([](const Array& a) { return a; }, [](const Array& a) { return a; },
                   [](const Array&, const Array& ct) { return ct; })(x);
}
