// expect: the backward rule of custom_vjp must return the cotangent of the argument
#include <apsis/apsis.hpp>

using namespace apsis;

struct Pair {
  Array a, b;
};

void use(const Array& x) {
  auto f = custom_vjp([](const Array& a) { return a; },
                      [](const Array& a) {
                        return std::pair{a, a};
                      },
                      [](const Array& a, const Array&) {
                        return Pair{a, a};
                      });
  (void)jit(grad(f))(x);
}
