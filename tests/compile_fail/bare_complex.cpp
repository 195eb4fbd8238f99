// expect: a bare `std::complex` member of a transformed struct: use Array to trace it or Static to bake it in
// expect: "pole"
#include <complex>

#include "apsis/core/array.hpp"
#include "apsis/tree/tree.hpp"

struct Filter {
  apsis::Array weight;
  std::complex<double> pole;
};

void use(Filter filter) {
  apsis::for_each_leaf(filter, [](apsis::Array&) {});
}
