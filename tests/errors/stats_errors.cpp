// Distributions.

#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

APSIS_PROVOKES(stats_dtype,
               "[norm::logpdf] takes real numbers, got c128[2]; give its real part, or its absolute value",
               stats::norm::logpdf(astype(array({1., 2.}), c128)))
APSIS_PROVOKES(
    stats_broadcast,
    "[gamma::cdf] shapes [2] and [3] do not broadcast: counted from the last axis, sizes must be equal or "
    "one of them 1",
    stats::gamma::cdf(array({1., 2.}), ones({3})))
