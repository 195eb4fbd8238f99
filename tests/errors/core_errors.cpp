#include <complex>
#include <new>
#include <apsis/apsis.hpp>

#include "apsis/core/op.hpp"
#include "apsis/core/outside_library.hpp"
#include "core/memory.hpp"
#include "core/sizes.hpp"
#include "errors/provoke.hpp"

using namespace apsis;

namespace {

const Op greedy{
    .name = "greedy",
    .kind = OpKind::Elementwise,
    .shape = [](const Params&, std::span<const Aval> in, std::vector<Aval>& out) { out = {in[0]}; },
    .evaluate = [](const Params&, std::span<const Array>, std::span<Array>) { throw std::bad_alloc(); }};

std::string all_memory() { return detail::bytes_text(static_cast<double>(detail::machine_memory())); }

}  // namespace

APSIS_PROVOKES(
    array_too_large,
    "[array] an array of shape [4294967296, 4294967296] and dtype f64 cannot be: it would take 128 EiB, "
    "and no machine can address that (sizes of 0 count as 1); check the sizes",
    zeros({std::int64_t(1) << 32, std::int64_t(1) << 32}))

APSIS_PROVOKES(
    too_many_elements,
    "[array] the sizes [4294967296, 4294967296] multiply to more than 64 bits hold; check the sizes",
    reshape(array(1.), {std::int64_t(1) << 32, std::int64_t(1) << 32}))

APSIS_PROVOKES(
    no_memory_for_array,
    "[array] no memory for an array of shape [17592186044416] and dtype f64: it takes 128 TiB, and this "
    "process may use " +
        all_memory() + " in all; make it smaller, or work through it in parts",
    zeros({std::int64_t(1) << 44}))

APSIS_PROVOKES(no_memory_for_op,
               "[greedy] memory ran out (operands: f64[2]); make them smaller, or work through them in parts",
               bind1(greedy, {}, {array({1., 2.})}, Loc::here()))

APSIS_PROVOKES(
    empty_array,
    "[Array] this Array is empty: it holds no value. A gradient is empty where nothing is differentiable; "
    "test with is_empty()",
    Array().shape())

APSIS_PROVOKES(
    not_one_element,
    "[item] needs an array of one element, got f64[2]; reduce it first, with all(…), any(…) or an index",
    array({1., 2.}).item<double>())

APSIS_PROVOKES(complex_as_real,
               "[item] f64 has no imaginary part, the elements of c128[2] do; take real(z), imag(z), abs(z) "
               "or angle(z) first",
               array({std::complex<double>(1., 2.), std::complex<double>(3., 4.)}).to_vector<double>())

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

APSIS_PROVOKES(strides_number, "[array] strides [1] do not fit the shape [2, 3]: give one an axis",
               array(StridedView{nullptr, f64, {2, 3}, {1}}))

APSIS_PROVOKES(eigen_axes, "[as_eigen] needs an array with two axes, got f64[]; reshape it",
               detail::fail_eigen(array(1.), "two axes", Loc::here()))

APSIS_PROVOKES_WITHOUT_PLACE(
    no_library,
    "[call] nowhere.so could not be opened: nowhere.so: cannot open shared object file: No such file or "
    "directory. Install the library that Apsis was built with, where it was then, or name its directory in "
    "LD_LIBRARY_PATH",
    (void)detail::OutsideLibrary("nowhere.so").find("function"))
