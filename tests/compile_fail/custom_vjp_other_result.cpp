// expect: the forward rule of custom_vjp must return the pair of the function's result and the residuals
#include <apsis/apsis.hpp>

using namespace apsis;

struct Pair {
  Array a, b;
};

void use(const Array& x) {
  auto f = custom_vjp(
      [](const Array& a) {
        return Pair{a, a};
      },
      [](const Array& a) {
        return std::pair{a, a};
      },
      [](const Array& a, const Pair&) { return a; });
  (void)jit(f)(x);
}
