// expect: the rule of custom_batch must return the type that the function returns
#include <apsis/apsis.hpp>

using namespace apsis;

struct Pair {
  Array a, b;
};

void use(const Array& x) {
  auto f = custom_batch([](const Array& a) { return a; },
                        [](std::int64_t, const Array&, const Array& a) {
                          return Pair{a, a};
                        });
  (void)vmap(f)(x);
}
