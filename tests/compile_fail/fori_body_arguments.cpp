// expect: fori_loop calls its body as body(i, carry)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  auto end = fori_loop(
      0, 3, [](const Array& a) { return a; }, x);
  (void)end;
}
