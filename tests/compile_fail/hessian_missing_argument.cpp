// expect: a derivative by an argument that the call does not have
#include <apsis/apsis.hpp>

auto slip(const apsis::Array& x) {
  return apsis::hessian<0, 2>([](const auto& a, const auto& b) { return sum(a * b); })(x, x);
}
