// expect: a `float` or `double` parameter of a transformed callable: use Array to trace it or Static<double> to bake it in
#include "apsis/core/array.hpp"
#include "apsis/tree/callable.hpp"

void use() {
  auto f = [](const apsis::Array& x, double) { return x; };
  apsis::detail::check_callable<decltype(f)>();
}
