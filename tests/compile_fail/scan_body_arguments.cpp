// expect: scan calls its body as body(carry, x)
#include <apsis/apsis.hpp>

using namespace apsis;

void use(const Array& x) {
  auto body = [](const Array& c, const Array& x) { return std::pair{c + x, x}; };
  auto last = scan(body, x, Nothing{}, {.length = 3}).first;
  (void)last;
}
