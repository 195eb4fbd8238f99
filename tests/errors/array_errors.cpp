#include <apsis/apsis.hpp>

#include "errors/provoke.hpp"

using namespace apsis;

namespace {

const Array x3 = array({1., 2., 3.});
const Array x23 = array({{1., 2., 3.}, {4., 5., 6.}});

}  // namespace

APSIS_PROVOKES(
    array_axis,
    "[gradient] f64[2,3] has no axis 2; give one from 0 up to its number of axes, or a negative one, "
    "counted from the end",
    gradient(x23, 1., 2))

APSIS_PROVOKES(array_rank, "[polyval] needs an array with one axis as polynomial, got f64[2,3]; reshape it",
               polyval(x23, x3))

APSIS_PROVOKES(array_dtype, "[ldexp] takes integers as exponents, got f64[3]; convert with astype",
               ldexp(x3, x3))

APSIS_PROVOKES(array_count, "[linspace] a number of entries must not be negative, got -1",
               linspace(0., 1., -1, {.endpoint = false}))

APSIS_PROVOKES(array_empty, "[hstack] needs at least one array; an empty list has no dtype", hstack({}))

APSIS_PROVOKES(array_sizes,
               "[interp] f64[3] and f64[2,3] do not go together: xp and fp are vectors of one size",
               interp(x3, x3, x23))

APSIS_PROVOKES(
    array_broadcast,
    "[broadcast_arrays] shapes [3] and [2] do not broadcast: counted from the last axis, sizes must "
    "be equal or one of them 1",
    broadcast_arrays({x3, array({1., 2.})}))

APSIS_PROVOKES(array_entry, "[delete_] 3 is out of bounds for 3 entries; negative numbers count from the end",
               delete_(x3, {3}, 0))

APSIS_PROVOKES(
    array_traced,
    "[unique] how many entries there are depends on values, which are not there while a function is "
    "traced; say how many with {.size = n}, or call it outside of the transformed function",
    jit([](const Array& x) { return unique(x); })(x3))

APSIS_PROVOKES(array_few, "[top_k] needs at least 4 entries along axis 0 of f64[3]", top_k(x3, 4))
