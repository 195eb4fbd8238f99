// compiles
#include <optional>

#include <apsis/apsis.hpp>

// A user's own type may have operators with an Array.
struct Unit {
  apsis::Array value;
};
apsis::Array operator*(const apsis::Array& x, const Unit& u) { return x * u.value; }
template <class T>
struct Scaled {
  T value;
};
template <class T>
apsis::Array operator+(const apsis::Array& x, const Scaled<T>& s) {
  return x + s.value;
}
apsis::Array with_unit(const apsis::Array& x) {
  return x * Unit{x} + Scaled<double>{2.} + apsis::Static<double>{3.};
}
bool same(const std::optional<apsis::Array>& x) { return x == std::nullopt; }
