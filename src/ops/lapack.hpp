#pragma once

// The routines of LAPACK that the ops on matrices call, for float and double: OpenBLAS's, by their Fortran
// interface. Matrices lie column by column. Each returns LAPACK's info: 0, or where it failed.

#include <cstddef>
#include <vector>

namespace apsis::detail::lapack {

using Int = int;

/// Memory that calls of one routine with the same arguments but for the elements share.
template <class T>
struct Work {
  std::vector<T> values;
  std::vector<Int> integers;
};

// Functions of overloads: T is float or double.
#define APSIS_LAPACK(T)                                                                                            \
  /* A = L·Lᵀ or Uᵀ·U in place, in the triangle that `uplo` names. */                                        \
  Int potrf(char uplo, Int n, T* a);                                                                               \
  /* A = P·L·U in place; m × n. `pivots` count from 1. */                                                       \
  Int getrf(Int m, Int n, T* a, Int* pivots);                                                                      \
  /* A = L·Q in place: L below, the reflections of Q in the rest, with their factors in `tau`. */                 \
  Int gelqf(Int m, Int n, T* a, T* tau, Work<T>& work);                                                            \
  /* The first m rows of the Q that gelqf left in k rows of a, in place. */                                        \
  Int orglq(Int m, Int n, Int k, T* a, const T* tau, Work<T>& work);                                               \
  /* Eigenvalues in ascending order; job 'V': eigenvectors as the columns of a. */                                 \
  Int syevd(char job, char uplo, Int n, T* a, T* values, Work<T>& work);                                           \
  /* A = U·diag(s)·Vᵀ; job 'A': all of U and Vᵀ, 'S': the first min(m, n) columns and rows, 'N': neither. */ \
  Int gesdd(char job, Int m, Int n, T* a, T* s, T* u, T* vt, Int rows_of_vt, Work<T>& work);                       \
  /* Solves A·X = B in place for A of `lower` and `upper` diagonals, overwritten: 2·lower + upper + 1 entries a     \
   * column, entry (i, j) at lower + upper + i - j of column j. */                                                 \
  Int gbsv(Int n, Int lower, Int upper, Int columns, T* a, Int* pivots, T* b);                                     \
  /* Solves op(A)·X = B or X·op(A) = B in place of the m × n matrix b; all row by row. */                       \
  void trsm_by_rows(bool left, bool lower, bool transposed, bool unit, Int m, Int n, const T* a, T* b);
APSIS_LAPACK(float)
APSIS_LAPACK(double)
#undef APSIS_LAPACK

}  // namespace apsis::detail::lapack
