// expect: a type whose value cannot be part of the cache key, in a `Static` or as the key of a map
#include <apsis/apsis.hpp>

#include <compare>
#include <map>

using namespace apsis;

class Mode {
 public:
  auto operator<=>(const Mode&) const = default;

 private:
  int mode_ = 1;
};

void use(const std::map<Mode, Array>& modes) {
  (void)jit([](const std::map<Mode, Array>& m) { return m.begin()->second; })(modes);
}
