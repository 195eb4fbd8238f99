#include "apsis/core/array.hpp"
#include "errors/provoke.hpp"

using namespace apsis;

APSIS_PROVOKES(
    empty_array,
    "[Array] this Array is empty: it holds no value. A gradient is empty where nothing is differentiable; "
    "test with is_empty()",
    Array().shape())

APSIS_PROVOKES(
    not_one_element,
    "[item] needs an array of one element, got f64[2]; reduce it first, with all(…), any(…) or an index",
    array({1., 2.}).item<double>())

APSIS_PROVOKES(
    span_dtype,
    "[span] elements are f64, asked for f32; convert with astype, or use to_vector, which converts",
    array({1., 2.}).span<float>())

APSIS_PROVOKES(bad_axis, "[dim] axis 1 is out of range for shape [2]: it must lie in [-1, 1)",
               array({1., 2.}).dim(1))

APSIS_PROVOKES(data_size, "[array] 3 values do not fill the shape [2, 2], which has 4 elements",
               array(std::vector<double>{1., 2., 3.}, Shape{2, 2}))

APSIS_PROVOKES(ragged_literal,
               "[array] the inner lists of a nested literal differ in length; make all rows equally long",
               array({{1., 2.}, {3.}}))

APSIS_PROVOKES(negative_shape, "[array] the shape [-1] has a negative size",
               array(std::vector<double>{}, Shape{-1}))

APSIS_PROVOKES(
    abstract_value,
    "[item] this Array (f64[]) has a shape and no value: eval_shape or abstract_array made it. Give "
    "it to eval_shape, trace, lower or make_graph, or use a computed Array here",
    abstract_array({}, Dtype::F64).item<double>())
