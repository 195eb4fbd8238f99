#pragma once

// The routines of LAPACK that the ops on matrices call, for float, double and complex numbers of both:
// OpenBLAS's, by their Fortran interface. Matrices lie column by column. Each returns LAPACK's info: 0, or
// where it failed.

#include <complex>
#include <cstddef>
#include <new>
#include <vector>

namespace apsis::detail::lapack {

using Int = int;

/// Of the parts of a number.
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

/// Memory at the same distance from a line of the cache, on which the order of sums in LAPACK depends.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, line); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }

 private:
  static constexpr std::align_val_t line{64};
};
template <class T>
using Scratch = std::vector<T, LineAllocator<T>>;

/// Memory that calls of one routine with the same arguments but for the elements share.
template <class T>
struct Work {
  Scratch<T> values;
  Scratch<Real<T>> reals;
  std::vector<Int> integers;
};

/// What is solved with: A, Aᵀ or the conjugate of Aᵀ.
enum class Op : unsigned char { None, Transpose, Adjoint };

// Functions of overloads: T is float, double or a complex number. Of complex matrices a transpose is the
// conjugate one, symmetric means Hermitian and orthogonal unitary.
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
  Int syevd(char job, char uplo, Int n, T* a, Real<T>* values, Work<T>& work);                                     \
  /* A = U·diag(s)·Vᵀ; job 'A': all of U and Vᵀ, 'S': the first min(m, n) columns and rows, 'N': neither. */ \
  Int gesdd(char job, Int m, Int n, T* a, Real<T>* s, T* u, T* vt, Int rows_of_vt, Work<T>& work);                 \
  /* Eigenvalues; job 'V': eigenvectors as the columns of v. a is overwritten. */                                  \
  Int geev(char job, Int n, T* a, std::complex<Real<T>>* values, std::complex<Real<T>>* v, Work<T>& work);         \
  /* A = Z·T·Zᴴ: T in the place of A. */                                                                       \
  Int gees(Int n, T* a, T* z, Work<T>& work);                                                                      \
  /* A = Q·H·Qᴴ: H in the place of A, but for what is below its second diagonal. */                            \
  Int gehrd(Int n, T* a, T* q, Work<T>& work);                                                                     \
  /* Solves A·X + X·B = scale·C in place of the m × n matrix c, of T's of gees. */                             \
  Int trsyl(Int m, Int n, const T* a, const T* b, T* c, Real<T>& scale);                                           \
  /* op(A)·op(B), m × n, of matrices that lie column by column without gaps. */                                  \
  void gemm(Op a_op, Op b_op, Int m, Int n, Int k, const T* a, const T* b, T* c);                                  \
  /* Solves A·X = B in place for A of `lower` and `upper` diagonals, overwritten: 2·lower + upper + 1            \
   * entries a column, entry (i, j) at lower + upper + i - j of column j. */                                       \
  Int gbsv(Int n, Int lower, Int upper, Int columns, T* a, Int* pivots, T* b);                                     \
  /* Solves op(A)·X = B or X·op(A) = B in place of the m × n matrix b; all row by row. */                       \
  void trsm_by_rows(bool left, bool lower, Op op, bool unit, Int m, Int n, const T* a, T* b);
APSIS_LAPACK(float)
APSIS_LAPACK(double)
APSIS_LAPACK(std::complex<float>)
APSIS_LAPACK(std::complex<double>)
#undef APSIS_LAPACK

}  // namespace apsis::detail::lapack
