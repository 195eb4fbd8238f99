// expect: a lambda that captures inside a transformed struct or its arguments: write a struct whose members are the captures
// expect: "field"
#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

template <class F>
struct Term {
  F field;
  apsis::Array scale;
};

void use(apsis::Array rate) {
  auto field = [rate](const apsis::Array&) { return rate; };
  Term<decltype(field)> term{field, rate};
  apsis::for_each_leaf(term, [](apsis::Array&) {});
}
