// compiles
#include <apsis/apsis.hpp>

auto none(const apsis::Array& x) {
  return apsis::vmap([](const apsis::Array& a) { return a; }, {})(x);
}
auto of_library(const apsis::Array& x) { return apsis::vmap(apsis::sin, {})(x); }
auto no_axis(const apsis::Array& x) {
  return apsis::vmap([](const apsis::Array& a) { return a; }, {.out_axes = {{}}})(x);
}
