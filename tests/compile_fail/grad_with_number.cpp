// expect: the gradient by the second argument is grad<1>(f)
#include <apsis/apsis.hpp>

auto slip(const apsis::Array& x) {
  return apsis::value_and_grad([](const apsis::Array& a, const apsis::Array& b) { return sum(a * b); }, 1)(x,
                                                                                                           x);
}
