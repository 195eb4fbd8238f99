// expect: a transformed callable changes itself: its call operator must be const (a lambda not `mutable`)
#include "apsis/core/array.hpp"
#include "apsis/tree/callable.hpp"

void use() {
  auto f = [count = 0](const apsis::Array& x) mutable { return ++count, x; };
  apsis::detail::check_callable<decltype(f)>();
}
