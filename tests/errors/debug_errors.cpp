#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

APSIS_PROVOKES(assertion, "[assert_rank] the weights: shape [2, 3] has 2 axes, not 1",
               assert_rank(zeros({2, 3}), 1, {.message = "the weights"}))

APSIS_PROVOKES(assertion_values,
               "[assert_trees_close_ulp] there are no values to compare yet: the arrays are traced; use "
               "assert_trees_close, which becomes part of the program",
               jit([](const Array& x) {
                 assert_trees_close_ulp(x, x);
                 return x;
               })(array(1.)))

APSIS_PROVOKES(unknown_dimension,
               "[Dimensions] no length is known by the name 'batch'; give it one with set, or meet it in an "
               "assertion first",
               Dimensions({{"in", 3}})["batch"])
