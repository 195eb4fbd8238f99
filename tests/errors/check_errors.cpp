#include <apsis/apsis.hpp>

#include <limits>

#include "errors/provoke.hpp"

using namespace apsis;

APSIS_PROVOKES(check_nan_made, "[checks] `log` made a NaN of operands that have none",
               jit([](const Array& x) { return log(x); }, {.checks = {.nan = true}})(array(-1.)))

APSIS_PROVOKES(check_nan_passed, "[checks] `exp` computed with a NaN that came in from outside",
               jit([](const Array& x) { return exp(x); },
                   {.checks = {.nan = true}})(array(std::numeric_limits<double>::quiet_NaN())))

APSIS_PROVOKES(check_division, "[checks] `div` divides by zero",
               jit([](const Array& x) { return 1. / x; }, {.checks = {.division = true}})(array(0.)))

APSIS_PROVOKES(
    check_index,
    "[checks] `gather` has an index out of range: they go from 5 to 5, allowed is 0 to 1, along axis 0",
    jit([](const Array& x, const Array& i) { return x[i]; }, {.checks = {.index = true}})(array({1., 2.}),
                                                                                          array({5})))
