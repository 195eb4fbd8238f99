// expect: a type whose value cannot be part of the cache key, in a `Static` or as the key of a map
#include <apsis/apsis.hpp>

#include <compare>

using namespace apsis;

class Mode {
 public:
  auto operator<=>(const Mode&) const = default;

 private:
  int mode_ = 1;
};

void use(const Array& x) {
  (void)jit([](const Array& a, const Static<Mode>&) { return a; })(x, Static<Mode>{});
}
