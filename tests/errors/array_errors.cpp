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

APSIS_PROVOKES(array_few, "[multi_dot] needs at least 2 entries along the list of arrays",
               linalg::multi_dot({x3}))

APSIS_PROVOKES(
    per_axis_sizes,
    "[reduce_window_max] strides = [1, 2] for 1 axes: give one number for all, or one for each, of "
    "at least 1",
    reduce_window_max(x3, {.window = 2, .strides = {1, 2}}))

APSIS_PROVOKES(padding_name,
               "[Padding] there is no padding \"same\": the names are \"SAME\", \"SAME_LOWER\" and "
               "\"VALID\"",
               Padding("same"))

APSIS_PROVOKES(padding_axes,
               "[reduce_window_sum] padding has 2 entries for 1 axes: give one number for all, or one number "
               "or pair for each",
               reduce_window_sum(x3, {.window = 2, .padding = {1, 2}}))

APSIS_PROVOKES(dilation,
               "[conv_general_dilated] rhs_dilation = 4611686018427387904 spreads 3 entries over more than "
               "2^48, which is more than arrays may have; give a smaller one",
               conv_general_dilated(ones({1, 1, 8}), ones({1, 1, 3}),
                                    {.rhs_dilation = std::int64_t{1} << 62}))

APSIS_PROVOKES(conv_ranks,
               "[conv_general_dilated] f64[3] and a kernel of f64[3]: both need the same number of axes, "
               "batch and channels before the spatial ones, and a kernel no size 0",
               conv_general_dilated(x3, x3))

APSIS_PROVOKES(
    conv_channels,
    "[conv_general_dilated] f64[1,5,3] has 3 channels, and the kernel f64[3,2,4] takes 2 and gives 4, in 1 "
    "groups "
    "of channels and 1 of the batch: lhs has as many channels as the kernel takes times the groups, "
    "groups divide what the kernel gives and the batch, and one of the two numbers is 1",
    conv_general_dilated(ones({1, 5, 3}), ones({3, 2, 4}),
                         {.dimensions = {.lhs = "NWC", .rhs = "WIO", .out = "NWC"}}))

APSIS_PROVOKES(
    conv_dimensions,
    "[conv_general_dilated] dimensions \"NHC\", \"HIO\", \"NWC\" for 1 spatial axes: the first and "
    "the last have N, C and a letter for each, the second O, I and the same letters",
    conv_general_dilated(ones({1, 5, 2}), ones({3, 2, 4}),
                         {.dimensions = {.lhs = "NHC", .rhs = "HIO", .out = "NWC"}}))

APSIS_PROVOKES(vectorize_signature,
               "[vectorize] \"(n\" is no signature: `,` or `)` is expected, not the end; write the axes of "
               "each array in parentheses, such as \"(m,n),(n)->(m)\"",
               vectorize(vdot, {.signature = "(n"})(x3, x3))

APSIS_PROVOKES(vectorize_fit,
               "[vectorize] the signature \"(n),(n)->()\" does not fit: argument 1 of shape [2] has 2 for n, "
               "which is 3; it names the axes of every array of the arguments that are not excluded, and of "
               "the results",
               vectorize(vdot, {.signature = "(n),(n)->()"})(x3, array({1., 2.})))

APSIS_PROVOKES(
    fold_changes,
    "[reduce] the operation makes of xs, f64[1], f64[1,1]: it must keep the shape and dtype of what "
    "it puts together",
    reduce([](const Array& a, const Array& b) { return outer(a, b); }, array({1., 2.}), 0.))

APSIS_PROVOKES(
    nearest_scaled,
    "[scale_and_translate] the nearest entry has no derivative in the scale: choose another method, "
    "or use resize",
    image::scale_and_translate(x3, {3}, {0}, array({1.}), array({0.}), image::ResizeMethod::Nearest))

APSIS_PROVOKES(axis_twice, "[scale_and_translate] axis 0 is named twice; name each axis once",
               image::scale_and_translate(x3, {3}, {0, -1}, array({1., 1.}), array({0., 0.}),
                                          image::ResizeMethod::Linear))

APSIS_PROVOKES(
    map_order,
    "[map_coordinates] order 3 is not known: 0 takes the nearest element, 1 is linear between them",
    image::map_coordinates(x3, {x3}, {.order = 3}))
