// expect: the rule of custom_batch is called as rule(lanes, mapped, args...)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  auto f = custom_batch([](const Array& a) { return a; }, [](const Array& a) { return a; });
  (void)vmap(f)(x);
}
