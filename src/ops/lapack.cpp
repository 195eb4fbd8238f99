#include "ops/lapack.hpp"

#include <cblas.h>

#include <algorithm>

// Fortran passes everything by address, and the lengths of texts behind the other arguments.
extern "C" {
#define APSIS_FORTRAN(p, T)                                                                                  \
  void p##potrf_(const char*, const int*, T*, const int*, int*, std::size_t);                                \
  void p##getrf_(const int*, const int*, T*, const int*, int*, int*);                                        \
  void p##gelqf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                          \
  void p##orglq_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);        \
  void p##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*, \
                 int*, std::size_t, std::size_t);                                                            \
  void p##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*,    \
                 T*, const int*, int*, int*, std::size_t);                                                   \
  void p##gbsv_(const int*, const int*, const int*, const int*, T*, const int*, int*, T*, const int*, int*);
APSIS_FORTRAN(s, float)
APSIS_FORTRAN(d, double)
#undef APSIS_FORTRAN
}

namespace apsis::detail::lapack {
namespace {

static_assert(sizeof(blasint) == sizeof(Int));

/// Asks a routine for the length of its memory the first time, then runs it. `run(values, length)`.
template <class T, class Run>
void with_work(Work<T>& work, const Run& run) {
  if (work.values.empty()) {
    T wanted{};
    run(&wanted, -1);
    // Floats do not hold every length, and are rounded down.
    work.values.resize(static_cast<std::size_t>(static_cast<double>(wanted) * (1 + 0x1p-20)) + 1);
  }
  run(work.values.data(), static_cast<Int>(work.values.size()));
}

CBLAS_UPLO triangle(bool lower) { return lower ? CblasLower : CblasUpper; }
CBLAS_TRANSPOSE transposition(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }
CBLAS_DIAG diagonal(bool unit) { return unit ? CblasUnit : CblasNonUnit; }

}  // namespace

#define APSIS_LAPACK(p, T)                                                                                  \
  Int potrf(char uplo, Int n, T* a) {                                                                       \
    Int info = 0;                                                                                           \
    p##potrf_(&uplo, &n, a, &n, &info, 1);                                                                  \
    return info;                                                                                            \
  }                                                                                                         \
  Int getrf(Int m, Int n, T* a, Int* pivots) {                                                              \
    Int info = 0;                                                                                           \
    p##getrf_(&m, &n, a, &m, pivots, &info);                                                                \
    return info;                                                                                            \
  }                                                                                                         \
  Int gelqf(Int m, Int n, T* a, T* tau, Work<T>& work) {                                                    \
    Int info = 0;                                                                                           \
    with_work(work, [&](T* memory, Int length) { p##gelqf_(&m, &n, a, &m, tau, memory, &length, &info); }); \
    return info;                                                                                            \
  }                                                                                                         \
  Int orglq(Int m, Int n, Int k, T* a, const T* tau, Work<T>& work) {                                       \
    Int info = 0;                                                                                           \
    with_work(work,                                                                                         \
              [&](T* memory, Int length) { p##orglq_(&m, &n, &k, a, &m, tau, memory, &length, &info); });   \
    return info;                                                                                            \
  }                                                                                                         \
  Int syevd(char job, char uplo, Int n, T* a, T* values, Work<T>& work) {                                   \
    Int info = 0;                                                                                           \
    const Int integers = job == 'V' ? 3 + 5 * n : 1;                                                        \
    work.integers.resize(static_cast<std::size_t>(integers));                                               \
    with_work(work, [&](T* memory, Int length) {                                                            \
      const Int most = length < 0 ? -1 : integers;                                                          \
      p##syevd_(&job, &uplo, &n, a, &n, values, memory, &length, work.integers.data(), &most, &info, 1, 1); \
    });                                                                                                     \
    return info;                                                                                            \
  }                                                                                                         \
  Int gesdd(char job, Int m, Int n, T* a, T* s, T* u, T* vt, Int rows_of_vt, Work<T>& work) {               \
    Int info = 0;                                                                                           \
    work.integers.resize(static_cast<std::size_t>(8 * std::min(m, n)));                                     \
    with_work(work, [&](T* memory, Int length) {                                                            \
      p##gesdd_(&job, &m, &n, a, &m, s, u, &m, vt, &rows_of_vt, memory, &length, work.integers.data(),      \
                &info, 1);                                                                                  \
    });                                                                                                     \
    return info;                                                                                            \
  }                                                                                                         \
  Int gbsv(Int n, Int lower, Int upper, Int columns, T* a, Int* pivots, T* b) {                             \
    Int info = 0;                                                                                           \
    const Int height = 2 * lower + upper + 1;                                                               \
    p##gbsv_(&n, &lower, &upper, &columns, a, &height, pivots, b, &n, &info);                               \
    return info;                                                                                            \
  }                                                                                                         \
  void trsm_by_rows(bool left, bool lower, bool transposed, bool unit, Int m, Int n, const T* a, T* b) {    \
    /* One column, or one row: the routine for vectors reads the matrix where it is. */                     \
    if (left ? n == 1 : m == 1)                                                                             \
      return cblas_##p##trsv(CblasRowMajor, triangle(lower), transposition(transposed != !left),            \
                             diagonal(unit), left ? m : n, a, left ? m : n, b, 1);                          \
    cblas_##p##trsm(CblasRowMajor, left ? CblasLeft : CblasRight, triangle(lower),                          \
                    transposition(transposed), diagonal(unit), m, n, 1, a, left ? m : n, b, n);             \
  }
APSIS_LAPACK(s, float)
APSIS_LAPACK(d, double)
#undef APSIS_LAPACK

}  // namespace apsis::detail::lapack
