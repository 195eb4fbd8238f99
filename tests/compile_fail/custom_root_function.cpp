// expect: the function of custom_root must return the type of its start
#include <apsis/apsis.hpp>

using namespace apsis;

struct Pair {
  Array a, b;
};

void use(const Array& x) {
  (void)custom_root(
      [](const Array& a) {
        return Pair{a, a};
      },
      x, [](const auto&, const Array& y) { return y; }, [](const auto&, const Array& y) { return y; });
}
