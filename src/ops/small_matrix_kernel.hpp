#pragma once

// Small matrices as the evaluator computes them: packets of matrices, an element of each in a register.

#include <cstdint>

#include "ops/matrix_params.hpp"

namespace apsis::detail {

/// Numbers of arrays: the real ones, or the real and the imaginary parts of complex ones. `packed`: as the
/// code has them in registers, the first entries of a packet's matrices side by side, then the second ones …,
/// so that what one function leaves is read by the next as it is. A packet that is not full takes as much
/// memory.
template <class T>
struct Parted {
  T *re, *im;
  bool packed = false;
  Parted(T* re_, T* im_ = nullptr, bool packed_ = false) : re(re_), im(im_), packed(packed_) {}
};
/// The same of numbers of rows.
template <class T>
struct RowNumbers {
  T* at;
  bool packed = false;
  RowNumbers(T* at_, bool packed_ = false) : at(at_), packed(packed_) {}
};

/// Runs over `count` matrices, one after the other in memory, row by row.
template <class T>
struct SmallMatrixCode {
  using From = Parted<const T>;
  using To = Parted<T>;
  void (*lu)(std::int64_t count, int rows, int columns, From a, To lu, RowNumbers<std::int32_t> pivots,
             RowNumbers<std::int32_t> permutation);
  void (*cholesky)(std::int64_t count, int n, From a, To l);
  /// q: rows × `reflected`, r: `reflected` × columns.
  void (*qr)(std::int64_t count, int rows, int columns, int reflected, From a, To q, To r);
  /// Right side i is solved with matrix i % `matrices`; n and `columns` are those of the equation, which the
  /// matrix stands at the left of.
  void (*triangular_solve)(const TriangularSolveParams& p, std::int64_t matrices, std::int64_t count, int n,
                           int columns, From a, From b, To x);
  void (*lu_solve)(bool transposed, std::int64_t matrices, std::int64_t count, int n, int columns, From lu,
                   RowNumbers<const std::int32_t> pivots, From b, To x);
  void (*solve)(std::int64_t count, int n, int columns, From a, From b, To x);
};

/// The code of real matrices, and that of complex ones.
template <class T>
struct SmallMatrixCodes {
  SmallMatrixCode<T> real, complex;
};

/// For registers of 16 bytes, which one matrix or a few fill best; of 32; and of 64 that only some processors
/// have.
template <class T>
const SmallMatrixCodes<T>& narrow_small_matrix_code();
template <class T>
const SmallMatrixCodes<T>& avx2_small_matrix_code();
template <class T>
const SmallMatrixCodes<T>& avx512_small_matrix_code();

/// For so many matrices, on this processor.
template <class T>
const SmallMatrixCodes<T>& small_matrix_code(std::int64_t count);

}  // namespace apsis::detail
