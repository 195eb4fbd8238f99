#pragma once

// Factorisations and solves of small complex matrices as ops on real and imaginary parts, so that loops and
// lanes meet real numbers alone. Operands and results are those of the ops on complex matrices, each complex
// array as two arrays of its parts; so are the rules, but for those of evaluation and emission, which run the
// texts of `small_matrix.hpp`.

#include <array>

#include "ops/complex.hpp"
#include "ops/matrix_rules.hpp"
#include "ops/small_matrix_kernel.hpp"

namespace apsis::detail {

extern const Op complex_cholesky_op, complex_lu_op, complex_lu_solve_op, complex_qr_op, complex_solve_op,
    complex_triangular_solve_op;

/// Whether all are what the texts are for.
bool are_small_matrices(std::span<const Array> in);

/// The same by the op on complex arrays, where matrices are not small.
void evaluate_joined(const Op& of_complex, const Params& params, std::span<const Array> in,
                     std::span<Array> out);
/// What an op on small complex matrices evaluates to, by the op on their parts.
void evaluate_split(const Op& of_parts, const Params& params, std::span<const Array> in,
                    std::span<Array> out);

/// Arrays of parts in pairs; those of numbers of rows are left out.
template <class T, class A>
class PartPairs {
 public:
  explicit PartPairs(std::span<A> arrays) {
    std::size_t count = 0;
    for (A& a : arrays)
      if (is_floating(a.dtype())) parts_[count++] = &a;
  }
  const Shape& shape(std::size_t pair) const { return parts_[2 * pair]->shape(); }
  Parted<T> operator[](std::size_t pair) const {
    return {elements(*parts_[2 * pair]), elements(*parts_[2 * pair + 1])};
  }

 private:
  static T* elements(A& a) {
    if constexpr (std::is_const_v<T>)
      return elements_of<std::remove_const_t<T>>(a);
    else
      return mutable_data<T>(a);
  }
  std::array<A*, 4> parts_{};
};

/// Calls run(code, from, to): code(count) is the code of so many matrices, from[i] and to[i] are pairs.
template <const Op& of_complex, class Run>
void evaluate_parts(const Params& params, std::span<const Array> in, std::span<Array> out, const Run& run) {
  if (!are_small_matrices(in) || !are_small_matrices(out))
    return evaluate_joined(of_complex, params, in, out);
  const auto run_as = [&]<class T>(std::type_identity<T>) {
    const auto code = [](std::int64_t count) -> const SmallMatrixCode<T>& {
      return small_matrix_code<T>(count).complex;
    };
    run(code, PartPairs<const T, const Array>(in), PartPairs<T, Array>(out));
  };
  if (in[0].dtype() == Dtype::F64)
    run_as(std::type_identity<double>{});
  else
    run_as(std::type_identity<float>{});
}

void jvp_of_parts(const Op& of_complex, const JvpRule& r);
void transpose_of_parts(const Op& of_complex, const TransposeRule& r);
void batch_of_parts(const Op& of_complex, const BatchRule& r);
void shape_of_parts(const Op& of_complex, const Params& params, std::span<const Aval> in,
                    std::vector<Aval>& out);

/// The op on parts that stands for one on small complex matrices. `linear`: it has a transpose.
template <const Op& of_complex>
constexpr Op op_on_parts(const char* name, decltype(Op::evaluate) evaluate,
                         decltype(Op::emit_unrolled) emit_unrolled, decltype(Op::parse) parse = nullptr) {
  return {
      .name = name,
      .kind = OpKind::Index,
      .shape = [](const Params& params, std::span<const Aval> in,
                  std::vector<Aval>& out) { shape_of_parts(of_complex, params, in, out); },
      .evaluate = evaluate,
      .jvp = [](const JvpRule& r) { jvp_of_parts(of_complex, r); },
      .batch = [](const BatchRule& r) { batch_of_parts(of_complex, r); },
      .emit_unrolled = emit_unrolled,
      .parse = parse,
  };
}
/// The same of an op that is linear in its right sides.
template <const Op& of_complex>
constexpr Op solve_on_parts(const char* name, decltype(Op::evaluate) evaluate,
                            decltype(Op::emit_unrolled) emit_unrolled, decltype(Op::parse) parse = nullptr) {
  Op op = op_on_parts<of_complex>(name, evaluate, emit_unrolled, parse);
  op.transpose = [](const TransposeRule& r) { transpose_of_parts(of_complex, r); };
  return op;
}

/// `Op::of_complex` by an op on parts. It leaves larger matrices, and empty ones, to the op itself.
void bind_parts(const Op& of_parts, const Params& params, std::span<const Array> in, std::span<Array> out);
template <const Op& of_parts>
void by_small_parts(const Params& params, std::span<const Array> in, std::span<Array> out) {
  bind_parts(of_parts, params, in, out);
}

}  // namespace apsis::detail
