#pragma once

// What the ops on matrices share. Matrices are the last two axes of an array; the axes before count them.
// Small ones are evaluated by the texts of `small_matrix.hpp`, which compiled code writes out; others by
// LAPACK one by one, and compiled code calls the evaluator. Either way a batch gives the bits of single
// calls. Half floats are computed in f32.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <vector>

#include "apsis/core/op.hpp"
#include "ops/elementwise.hpp"
#include "ops/lapack.hpp"
#include "ops/lax.hpp"
#include "ops/matrix_params.hpp"

namespace apsis::detail {

/// `count` matrices of m rows and n columns.
struct Matrices {
  std::int64_t count = 1, m, n;
  explicit Matrices(const Shape& shape);
  /// The smaller side.
  std::int64_t k() const { return m < n ? m : n; }
};

/// The shape with other last axes in place of the last two.
Shape with_matrices(const Shape& shape, std::initializer_list<std::int64_t> last);

/// Asserts that an operand has a floating or complex dtype and two axes or more; throws where a side is too
/// long for LAPACK.
void check_matrices(const char* name, const Aval& aval);

/// Operands and results in a dtype that LAPACK has: half floats in f32.
class ComputedArrays {
 public:
  ComputedArrays(std::span<const Array> in, std::span<Array> out);
  /// Rounds the results.
  void finish();
  std::span<const Array> in() const { return in_; }
  std::span<Array> out() { return out_; }

 private:
  std::span<Array> wanted_;
  std::vector<Array> in_, out_;
};

/// Calls run(std::type_identity<T>, in, out) with a type that LAPACK has.
template <class Run>
void evaluate_matrices(std::span<const Array> in, std::span<Array> out, const Run& run) {
  if (in[0].dtype() == Dtype::C128) return run(std::type_identity<std::complex<double>>{}, in, out);
  if (in[0].dtype() == Dtype::C64) return run(std::type_identity<std::complex<float>>{}, in, out);
  if (in[0].dtype() == Dtype::F64) return run(std::type_identity<double>{}, in, out);
  if (in[0].dtype() == Dtype::F32) return run(std::type_identity<float>{}, in, out);
  ComputedArrays computed(in, out);
  run(std::type_identity<float>{}, computed.in(), computed.out());
  computed.finish();
}

template <class T>
using Scratch = lapack::Scratch<T>;

template <class T>
const T* elements_of(const Array& a) {
  return static_cast<const T*>(data_of(a));
}

/// to[j, i] = from[i, j] for a rows × columns matrix.
template <class T>
void transpose_into(const T* from, std::int64_t rows, std::int64_t columns, T* to) {
  constexpr std::int64_t side = 16;  // both blocks stay in the cache
  for (std::int64_t i0 = 0; i0 < rows; i0 += side)
    for (std::int64_t j0 = 0; j0 < columns; j0 += side)
      for (std::int64_t i = i0; i < std::min(rows, i0 + side); ++i)
        for (std::int64_t j = j0; j < std::min(columns, j0 + side); ++j)
          to[j * rows + i] = from[i * columns + j];
}

template <class T>
void fill_nan(T* to, std::int64_t count) {
  constexpr auto nan = std::numeric_limits<lapack::Real<T>>::quiet_NaN();
  if constexpr (std::is_same_v<T, lapack::Real<T>>)
    std::fill_n(to, count, nan);
  else
    std::fill_n(to, count, T(nan, nan));
}

template <class T>
bool all_finite(const T* a, std::int64_t count) {
  return std::all_of(a, a + count,
                     [](const T& x) { return std::isfinite(std::real(x)) && std::isfinite(std::imag(x)); });
}

/// A loop over leading axes, which any number of may be there: mapped axes go in front.
template <const Op& op>
void batch_matrices(const BatchRule& r) {
  r.outs = bind_all(op, r.params, batch_operands(r));
  r.out_axes.assign(r.outs.size(), 0);
}

/// Whether the matrices of a are those of b, or repeated along the first axes of b.
bool repeats_matrices(const Shape& a, const Shape& b);
/// The rule of ops whose last operand are right sides, which the others (a matrix, and for each matrix a row)
/// are repeated along: what all lanes share is not repeated for them.
void batch_solve(const Op& op, const BatchRule& r);

namespace lax {
// On matrices; the leading axes are equal.

Array matrix_transpose(const Array& a);
/// x - iy for x + iy; what is real as it is.
Array conj(const Array& a);
/// The conjugate transpose.
Array adjoint(const Array& a);
/// The real part, of the dtype of `a`.
Array real_part(const Array& a);
/// The Hermitian matrix with the lower triangle of a, which is read alone.
Array hermitian_of_lower(const Array& a);
Array matrix_product(const Array& a, const Array& b);
/// Zeros above the k-th diagonal (lower) or below it.
Array triangle(const Array& a, bool lower, int k = 0);
/// [.., min(m, n)].
Array diagonal(const Array& a);
/// Columns (rows) times the entries of [.., n] ([.., m]), which may be real.
Array scale_columns(const Array& a, const Array& factors);
Array scale_rows(const Array& a, const Array& factors);
/// Identity matrices of this shape.
Array identity(const Shape& shape, Dtype dtype);
/// Entry i + k along an axis as entry i, zeros where there is none.
Array moved(const Array& a, int axis, std::int64_t k);
/// Rows or columns [from, to).
Array matrix_rows(const Array& a, std::int64_t from, std::int64_t to);
Array matrix_columns(const Array& a, std::int64_t from, std::int64_t to);
/// Solves op(A)·X = B, or X·op(A) = B, with any op. The matrices of a are those of b, or repeated along its
/// first axes.
Array triangular_solve(const Array& a, const Array& b, const TriangularSolveParams& params);
/// Solves A·X = B, or Aᵀ·X = B, by the factors of A.
Array lu_solve(const Array& lu, const Array& pivots, const Array& b, bool transposed = false);

}  // namespace lax
}  // namespace apsis::detail
