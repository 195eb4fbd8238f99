// expect: the solver of custom_root must return the type of its start, or a pair of that and more
#include <apsis/apsis.hpp>

using namespace apsis;

struct Pair {
  Array a, b;
};

void use(const Array& x) {
  (void)custom_root([](const Array& a) { return a; }, x,
                    [](const auto&, const Array& s) {
                      return Pair{s, s};
                    },
                    [](const auto&, const Array& y) { return y; });
}
