// expect: a transformation takes the function and returns one, which takes the arguments
#include <apsis/apsis.hpp>

auto slip(const apsis::Array& x) {
  return apsis::vmap([](const apsis::Array& a) { return sum(a); }, x, x);
}
