#pragma once

// Complex numbers. In memory the two parts of an element are neighbours, as in std::complex; what computes is
// composed of ops on parts as it is bound (`Op::of_complex`), so that derivatives, batches and compiled code
// meet real numbers. `complex_op` puts parts together, `real_op` and `imag_op` are views of them.

#include "ir/graph.hpp"
#include "ops/elementwise.hpp"

namespace apsis::detail {

/// The real and the imaginary part of an array.
struct Parts {
  Array re, im;
};

/// f32 for c64, f64 for c128; other dtypes as they are.
constexpr Dtype part_dtype(Dtype d) {
  return d == Dtype::C64 ? Dtype::F32 : d == Dtype::C128 ? Dtype::F64 : d;
}
/// The dtype of complex numbers that hold `d` without loss where there is one: c64 for f32 and below, else
/// c128.
Dtype complex_dtype(Dtype d);
/// Of a complex array.
Parts parts_of(const Array& z);
Array joined(const Parts& z);
/// Each complex array as its two parts, others as they are.
std::vector<Array> with_parts(std::span<const Array> arrays);

/// The op on the real parts and on the imaginary ones; operands that are real take part in both.
void on_each_part(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out);
template <const Op& op>
void each_part(const Params& params, std::span<const Array> in, std::span<Array> out) {
  on_each_part(op, params, in, out);
}
/// A function of the operands' parts, which gives parts or a real array.
template <auto function>
void by_parts(const Params&, std::span<const Array> in, std::span<Array> out) {
  const auto run = [&]<class R, class... P>(R (*f)(P...)) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      if constexpr (std::is_same_v<R, Parts>)
        out[0] = joined(f(parts_of(in[k])...));
      else
        out[0] = f(parts_of(in[k])...);
    }
    (std::make_index_sequence<sizeof...(P)>());
  };
  run(function);
}

/// Staging, of an op that moves elements: where the parts of an operand are known, those are moved, each for
/// itself.
bool move_parts(GraphBuilder& builder, const Op& op, const Params& params, std::span<const ValueId> operands,
                std::span<ValueId> results, Loc loc);

/// a·b - c·d with one rounding of the sum, exactly zero where both products are equal.
Array difference_of_products(const Array& a, const Array& b, const Array& c, const Array& d);

/// Functions of complex numbers by their parts, each in one fixed order of operations. Branch cuts, signed
/// zeros and infinities as in annex G of C99.
namespace parts {
Parts add(const Parts& z, const Parts& w);
Parts conj(const Parts& z);
Parts mul(const Parts& z, const Parts& w);
Parts div(const Parts& z, const Parts& w);
Parts sign(const Parts& z);
Parts integer_pow(Parts z, std::int64_t n);
/// Times i, and divided by i.
Parts times_i(const Parts& z);
Parts over_i(const Parts& z);
/// |z| without overflow on the way.
Array abs(const Parts& z);
Array eq(const Parts& z, const Parts& w);
Array ne(const Parts& z, const Parts& w);
Array is_finite(const Parts& z);

Parts sqrt(const Parts& z);
Parts rsqrt(const Parts& z);
Parts exp(const Parts& z);
Parts exp2(const Parts& z);
Parts expm1(const Parts& z);
Parts log(const Parts& z);
Parts log2(const Parts& z);
Parts log10(const Parts& z);
Parts log1p(const Parts& z);
Parts pow(const Parts& z, const Parts& w);
Parts logistic(const Parts& z);
Parts sin(const Parts& z);
Parts cos(const Parts& z);
Parts tan(const Parts& z);
Parts asin(const Parts& z);
Parts acos(const Parts& z);
Parts atan(const Parts& z);
Parts sinh(const Parts& z);
Parts cosh(const Parts& z);
Parts tanh(const Parts& z);
Parts asinh(const Parts& z);
Parts acosh(const Parts& z);
Parts atanh(const Parts& z);
}  // namespace parts

}  // namespace apsis::detail
