#include <apsis/apsis.hpp>

#include <limits>

#include "apsis/core/op.hpp"
#include "errors/provoke.hpp"
#include "ir/graph.hpp"

using namespace apsis;

namespace {

const Array x3 = array({1., 2., 3.});
const Array x23 = array({{1., 2., 3.}, {4., 5., 6.}});
const Array none = zeros({0});

}  // namespace

APSIS_PROVOKES(shapes_do_not_broadcast,
               "[add] shapes [3] and [2] do not broadcast: counted from the last axis, sizes must be equal "
               "or one of them 1; insert axes of size 1 with expand_dims or reshape",
               x3 + array({1., 2.}))

APSIS_PROVOKES_WITHOUT_PLACE(
    operands_differ,
    "[add] operands must have one dtype and one shape, got f64[3] and f64[2]; convert and "
    "broadcast them first",
    bind1(*detail::find_op("add"), {}, {x3, array({1., 2.})}))

APSIS_PROVOKES_WITHOUT_PLACE(wrong_operand_count, "[add] takes 2 operands, got 1",
                             bind1(*detail::find_op("add"), {}, {x3}))

APSIS_PROVOKES(complex_not_supported,
               "[floor] is not defined for c128[]: take real(z), imag(z), abs(z) or angle(z) of complex "
               "numbers",
               floor(astype(x3, c128)))

APSIS_PROVOKES(dtype_not_supported, "[population_count] takes integers, got f64[3]; convert with astype",
               population_count(x3))

APSIS_PROVOKES(chained_comparison,
               "[lt] orders a boolean: a chained comparison such as `a < x < b` compares the result of the "
               "first; write `a < x && x < b`",
               static_cast<void>(0. < x3 < 1.))

APSIS_PROVOKES(negative_integer_power,
               "[integer_pow] the integers i32[2] cannot be raised to the negative power -1; convert the "
               "base to a floating dtype",
               pow(array({1, 2}), -1))

APSIS_PROVOKES(empty_reduction,
               "[max] has no value over an empty axis: f64[0] over the axes [0]; test the shape first",
               max(none))

APSIS_PROVOKES(reduction_option,
               "[argmax] does not take the option `where`; choose what counts before, with "
               "where(condition, x, value)",
               argmax(x3, {.where = x3 > 1.}))

APSIS_PROVOKES(reduction_where,
               "[nansum] `where` must be booleans that broadcast to f64[3], got bool[2,3]; make them by a "
               "comparison, and add axes with expand_dims",
               nansum(x3, {.where = x23 > 1.}))

APSIS_PROVOKES(reduction_where_nothing,
               "[max] has no value where `where` leaves no element: give the option `initial`, which such a "
               "result is",
               max(x3, {.where = x3 > 1.}))

APSIS_PROVOKES(
    reduction_initial,
    "[sum] `initial` must be a scalar that a result of f64 can be, got f64[3]; convert it with astype, or "
    "combine arrays with the result",
    sum(x3, {.initial = x3}))

APSIS_PROVOKES(reduction_dtype, "[mean] gives floating numbers, not i32; convert the result with astype",
               mean(x3, {.dtype = i32}))

APSIS_PROVOKES(needs_one_axis, "[cumsum] runs along one axis, got [0, 1]; reshape to join axes",
               cumsum(x23, {.axis = {0, 1}}))

APSIS_PROVOKES(repeated_axis, "[sum] the axis 0 is named twice", sum(x23, {.axis = {0, 0}}))

APSIS_PROVOKES(
    scatter_mul_repeated,
    "[at] the derivative of .multiply(values) with respect to the values needs indices that meet no element "
    "twice, which is not known for an index array; multiply the gathered elements and .set them",
    grad([](const Array& values) {
      return sum(x3.at(array({0, 0})).multiply(values));
    })(array({1., 2.})))

APSIS_PROVOKES(
    index_dtype,
    "[index] indices must be integers, got f64[3]; convert with astype, or use `where` for conditions",
    x3[x3])

APSIS_PROVOKES(reshape_size,
               "[reshape] the shape [3] has 3 elements, which do not fill [2, 2]; sizes must multiply to 3, "
               "and one of them may be -1",
               reshape(x3, {2, 2}))

APSIS_PROVOKES(permutation_rank,
               "[transpose] [0] does not name each axis of shape [2, 3] once; give a permutation of its axes",
               transpose(x23, {0}))

APSIS_PROVOKES(squeeze_size,
               "[squeeze] axis 0 of shape [2, 3] has size 2; only axes of size 1 can be dropped",
               squeeze(x23, {0}))

APSIS_PROVOKES(broadcast_to,
               "[broadcast_to] shape [3] does not broadcast to [2, 2]: counted from the last axis, each size "
               "must be that of the target or 1",
               broadcast_to(x3, {2, 2}))

APSIS_PROVOKES(nothing_to_join, "[concatenate] needs at least one array; an empty list has no dtype",
               concatenate({}))

APSIS_PROVOKES(join_shapes,
               "[stack] array 1 has shape [2, 3], the first [3]: the shapes must agree; broadcast them first",
               stack({x3, x23}))

APSIS_PROVOKES(unstack_size,
               "[unstack] asked for 2 entries of shape [3] along axis 0; the number must be that axis' size",
               unstack<2>(x3))

APSIS_PROVOKES(
    split_size,
    "[split] axis 0 of shape [3] does not divide into 2 equal parts; use split_at to give the places",
    split(x3, 2))

APSIS_PROVOKES(split_places, "[split_at] the places [2, 1] must ascend and lie within axis 0 of shape [3]",
               split_at(x3, {2, 1}))

APSIS_PROVOKES(negative_count, "[linspace] a count must not be negative, got -1", linspace(0., 1., -1))

APSIS_PROVOKES(pad_numbers,
               "[pad] low [1, 1] and high [1, 1] do not fit an array of shape [3] padded with a value of "
               "shape []: give one number an axis, crop no more than there is, and a scalar value",
               pad(x3, {1, 1}, {1, 1}))

APSIS_PROVOKES(pad_interior,
               "[pad] interior [-1] does not fit an array of shape [3]: give one number an axis, none of "
               "them negative",
               pad(x3, {0}, {0}, {-1}, 0.))

APSIS_PROVOKES(dynamic_slice_sizes,
               "[dynamic_slice] sizes [4] and 1 starts do not fit an array of shape [3]: give a start and a "
               "size for each axis, sizes from 0 up to the axis' own",
               dynamic_slice(x3, {0}, {4}))

APSIS_PROVOKES(
    bitcast_sizes,
    "[bitcast_convert_type] u8[3] as f32: the last axis must have size 4, as many elements as make "
    "one",
    bitcast_convert_type(zeros({3}, u8), f32))

APSIS_PROVOKES(
    precision_bits,
    "[reduce_precision] 0 bits of exponent and 7 of fraction: give at least 1 of the first, and no "
    "negative number",
    reduce_precision(x3, 0, 7))

APSIS_PROVOKES(needs_rank, "[tril] needs an array with 2 axes, got shape [3]", tril(x3))

APSIS_PROVOKES(not_scalar, "[full] needs a scalar, got shape [3]", full({2}, x3))

APSIS_PROVOKES(arange_step, "[arange] the step must not be 0", arange(0, 3, 0))

APSIS_PROVOKES(
    arange_length,
    "[arange] from 0.000000 to inf by 1.000000 has no finite length; check the ends for infinity and NaN",
    arange(0., std::numeric_limits<double>::infinity(), 1.))

APSIS_PROVOKES(index_bounds,
               "[index] 3 is out of bounds for axis 0 of shape [3], which has 3 entries; negative numbers "
               "count from the end",
               x3[3])

APSIS_PROVOKES(index_empty_axis,
               "[index] axis 0 of shape [0] is empty: there is nothing to take; test its size first",
               none[array({0})])

APSIS_PROVOKES(range_step, "[index] the step of a range must not be 0 (axis 0 of shape [3])",
               x3[range({}, {}, 0)])

APSIS_PROVOKES(traced_mask,
               "[index] a boolean mask (bool[3]) without a value yet would make a shape that depends on "
               "values; use where(mask, a, b), or index outside the transformed function",
               jit([](const Array& x) { return x[x > 0.]; })(x3))

APSIS_PROVOKES(mask_shape,
               "[index] a boolean mask of shape [2] does not fit the axes of shape [3] from axis 0 on; the "
               "sizes must agree",
               x3[array({true, false})])

APSIS_PROVOKES(two_ellipses,
               "[index] only one ellipsis can stand in an index; write the other axes as range()",
               x23(ellipsis, ellipsis))

APSIS_PROVOKES(too_many_indices, "[index] 2 indices for shape [3]; give at most one an axis", x3(0, 0))

APSIS_PROVOKES(update_shape,
               "[at] values of shape [3] do not broadcast to the indexed shape [2] of an array of shape [3]",
               x3.at(range(0, 2)).set(x3))

APSIS_PROVOKES(update_fractions,
               "[at] values of f64[] would lose their fractions in an array of i32[3]; convert one of the "
               "two with astype",
               array({1, 2, 3}).at(0).set(array(0.5)))

APSIS_PROVOKES(
    update_parts,
    "[at] values of c128[] would lose their imaginary parts in an array of f64[3]; take real(v), or "
    "convert the array with astype",
    x3.at(0).set(complex(1., array(2.))))

APSIS_PROVOKES(take_along_rank,
               "[take_along_axis] indices of shape [2] need as many axes as the array of shape [2, 3]; add "
               "axes with expand_dims",
               take_along_axis(x23, array({0, 1}), 0))

APSIS_PROVOKES(contraction_sizes,
               "[dot] axes [0] of shape [3] cannot be contracted with axes [0] of shape [2]: as many axes, "
               "of equal sizes, are needed on both sides",
               dot(x3, array({1., 2.})))

APSIS_PROVOKES(matmul_scalar,
               "[matmul] a scalar has no axis to contract (shapes [3] and []); multiply with *",
               matmul(x3, 2.))

APSIS_PROVOKES(
    tensordot_axes,
    "[tensordot] cannot contract 2 axes of shapes [3] and [3]; give a number up to the smaller rank",
    tensordot(x3, x3, 2))

APSIS_PROVOKES(einsum_equation,
               "[einsum] \"ij,jk->ik\" does not fit: `ij` does not fit shape [3]; write letters for the axes "
               "of each operand, such as \"ij,jk->ik\"",
               einsum("ij,jk->ik", {x3, x23}))

APSIS_PROVOKES(sort_shapes, "[sort] arrays sorted together must have one shape, got [2, 3] and [3]",
               sort(std::vector{x3, x23}))

APSIS_PROVOKES(top_k_count, "[top_k] 4 entries are wanted along axis 0 of f64[3]; give a number from 0 to 3",
               top_k(x3, 4))

APSIS_PROVOKES(sort_keys, "[sort] 3 keys among 2 arrays; give a number from 1 to the number of arrays",
               sort(std::vector{x3, x3}, -1, 3))

APSIS_PROVOKES(
    forbidden,
    "[lookup] this must not be differentiated in reverse mode: it was declared so where it was "
    "written; keep the transformation out of it, or pass a value that does not depend on the input "
    "(stop_gradient)",
    grad([](const Array& x) { return nondifferentiable_backward(x, "lookup"); })(array(1.)))

APSIS_PROVOKES(
    polygamma_order,
    "[polygamma] the order is 101, but only the derivatives of orders 0 (digamma) to 100 are there; lgamma "
    "can be differentiated no further",
    polygamma(101, array(1.)))
