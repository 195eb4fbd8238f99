#pragma once

// Small matrices as the evaluator computes them: packets of matrices, an element of each in a register.

#include <cstdint>

#include "ops/matrix_params.hpp"

namespace apsis::detail {

/// Runs over `count` matrices, one after the other in memory, row by row.
template <class T>
struct SmallMatrixCode {
  void (*lu)(std::int64_t count, int rows, int columns, const T* a, T* lu, std::int32_t* pivots,
             std::int32_t* permutation);
  void (*cholesky)(std::int64_t count, int n, const T* a, T* l);
  /// q: rows × `reflected`, r: `reflected` × columns.
  void (*qr)(std::int64_t count, int rows, int columns, int reflected, const T* a, T* q, T* r);
  /// Right side i is solved with matrix i % `matrices`; n and `columns` are those of the equation, which the
  /// matrix stands at the left of.
  void (*triangular_solve)(const TriangularSolveParams& p, std::int64_t matrices, std::int64_t count, int n,
                           int columns, const T* a, const T* b, T* x);
  void (*lu_solve)(bool transposed, std::int64_t matrices, std::int64_t count, int n, int columns,
                   const T* lu, const std::int32_t* pivots, const T* b, T* x);
  void (*solve)(std::int64_t count, int n, int columns, const T* a, const T* b, T* x);
};

/// For registers of 16 bytes, which one matrix or a few fill best; of 32; and of 64 that only some processors
/// have.
template <class T>
const SmallMatrixCode<T>& narrow_small_matrix_code();
template <class T>
const SmallMatrixCode<T>& avx2_small_matrix_code();
template <class T>
const SmallMatrixCode<T>& avx512_small_matrix_code();

/// For so many matrices, on this processor.
template <class T>
const SmallMatrixCode<T>& small_matrix_code(std::int64_t count);

}  // namespace apsis::detail
