// expect: the rule of custom_jvp must return the pair of the function's result and its tangent, both of the type
#include <apsis/apsis.hpp>

using namespace apsis;

struct Pair {
  Array a, b;
};

void use(const Array& x) {
  auto f = custom_jvp([](const Array& a) { return a; },
                      [](const Array& a, const Array& da) {
                        return std::pair{Pair{a, a}, da};
                      });
  (void)grad(f)(x);
}
