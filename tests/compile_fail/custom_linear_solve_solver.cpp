// expect: the solvers of custom_linear_solve must return the type of b
#include <apsis/apsis.hpp>

using namespace apsis;

struct Pair {
  Array a, b;
};

void use(const Array& x) {
  (void)custom_linear_solve([](const Array& a) { return a; }, x,
                            [](const auto&, const Array& y) {
                              return Pair{y, y};
                            });
}
