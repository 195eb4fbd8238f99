#include "ops/lapack.hpp"

#include <cblas.h>

#include <algorithm>

#include "ops/openblas_call.hpp"

// Fortran passes everything by address, and the lengths of texts behind the other arguments.
extern "C" {
#define APSIS_FORTRAN(p, T)                                                                                  \
  void p##potrf_(const char*, const int*, T*, const int*, int*, std::size_t);                                \
  void p##getrf_(const int*, const int*, T*, const int*, int*, int*);                                        \
  void p##gelqf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                          \
  void p##gbsv_(const int*, const int*, const int*, const int*, T*, const int*, int*, T*, const int*, int*); \
  void p##gehrd_(const int*, const int*, const int*, T*, const int*, T*, T*, const int*, int*);
#define APSIS_FORTRAN_REAL(p, T)                                                                             \
  APSIS_FORTRAN(p, T)                                                                                        \
  void p##orglq_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);        \
  void p##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*, \
                 int*, std::size_t, std::size_t);                                                            \
  void p##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*,    \
                 T*, const int*, int*, int*, std::size_t);                                                   \
  void p##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*,            \
                const int*, T*, const int*, int*, std::size_t, std::size_t);                                 \
  void p##gees_(const char*, const char*, int (*)(const T*, const T*), const int*, T*, const int*, int*, T*, \
                T*, T*, const int*, T*, const int*, int*, int*, std::size_t, std::size_t);                   \
  void p##orghr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);        \
  void p##trsyl_(const char*, const char*, const int*, const int*, const int*, const T*, const int*,         \
                 const T*, const int*, T*, const int*, T*, int*, std::size_t, std::size_t);
#define APSIS_FORTRAN_COMPLEX(p, T, R)                                                                     \
  APSIS_FORTRAN(p, T)                                                                                      \
  void p##unglq_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);      \
  void p##heevd_(const char*, const char*, const int*, T*, const int*, R*, T*, const int*, R*, const int*, \
                 int*, const int*, int*, std::size_t, std::size_t);                                        \
  void p##gesdd_(const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*, const int*,  \
                 T*, const int*, R*, int*, int*, std::size_t);                                             \
  void p##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, T*, const int*,  \
                T*, const int*, R*, int*, std::size_t, std::size_t);                                       \
  void p##gees_(const char*, const char*, int (*)(const T*), const int*, T*, const int*, int*, T*, T*,     \
                const int*, T*, const int*, R*, int*, int*, std::size_t, std::size_t);                     \
  void p##unghr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);      \
  void p##trsyl_(const char*, const char*, const int*, const int*, const int*, const T*, const int*,       \
                 const T*, const int*, T*, const int*, R*, int*, std::size_t, std::size_t);
APSIS_FORTRAN_REAL(s, float)
APSIS_FORTRAN_REAL(d, double)
APSIS_FORTRAN_COMPLEX(c, std::complex<float>, float)
APSIS_FORTRAN_COMPLEX(z, std::complex<double>, double)
#undef APSIS_FORTRAN_COMPLEX
#undef APSIS_FORTRAN_REAL
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
    work.values.resize(static_cast<std::size_t>(static_cast<double>(std::real(wanted)) * (1 + 0x1p-20)) + 1);
  }
  run(work.values.data(), static_cast<Int>(work.values.size()));
}

/// Of a real matrix, a pair of complex eigenvectors is the real part of both and the imaginary one of the
/// first.
template <class T>
void spread_pairs(Int n, const T* im, const T* columns, std::complex<T>* v) {
  for (Int j = 0; j < n; ++j) {
    const bool pair = im[j] != 0;
    const T *re = columns + std::ptrdiff_t(j) * n, *next = re + n;
    std::complex<T>*first = v + std::ptrdiff_t(j) * n, *second = first + n;
    for (Int i = 0; i < n; ++i) first[i] = {re[i], pair ? next[i] : T{}};
    for (Int i = 0; i < n && pair; ++i) second[i] = std::conj(first[i]);
    j += pair;
  }
}

CBLAS_UPLO triangle(bool lower) { return lower ? CblasLower : CblasUpper; }
CBLAS_TRANSPOSE transposition(Op op) {
  return op == Op::None ? CblasNoTrans : op == Op::Transpose ? CblasTrans : CblasConjTrans;
}
CBLAS_DIAG diagonal(bool unit) { return unit ? CblasUnit : CblasNonUnit; }

}  // namespace

// What all numbers have.
#define APSIS_LAPACK(p, T)                                                                        \
  Int potrf(char uplo, Int n, T* a) {                                                             \
    const OpenblasCall alone;                                                                     \
    Int info = 0;                                                                                 \
    APSIS_OPENBLAS(p##potrf_)(&uplo, &n, a, &n, &info, 1);                                        \
    return info;                                                                                  \
  }                                                                                               \
  Int getrf(Int m, Int n, T* a, Int* pivots) {                                                    \
    const OpenblasCall alone;                                                                     \
    Int info = 0;                                                                                 \
    APSIS_OPENBLAS(p##getrf_)(&m, &n, a, &m, pivots, &info);                                      \
    return info;                                                                                  \
  }                                                                                               \
  Int gelqf(Int m, Int n, T* a, T* tau, Work<T>& work) {                                          \
    const OpenblasCall alone;                                                                     \
    Int info = 0;                                                                                 \
    with_work(work, [&](T* memory, Int length) {                                                  \
      APSIS_OPENBLAS(p##gelqf_)(&m, &n, a, &m, tau, memory, &length, &info);                      \
    });                                                                                           \
    return info;                                                                                  \
  }                                                                                               \
  Int gbsv(Int n, Int lower, Int upper, Int columns, T* a, Int* pivots, T* b) {                   \
    const OpenblasCall alone;                                                                     \
    Int info = 0;                                                                                 \
    const Int height = 2 * lower + upper + 1;                                                     \
    APSIS_OPENBLAS(p##gbsv_)(&n, &lower, &upper, &columns, a, &height, pivots, b, &n, &info);     \
    return info;                                                                                  \
  }                                                                                               \
  Int trsyl(Int m, Int n, const T* a, const T* b, T* c, Real<T>& scale) {                         \
    const OpenblasCall alone;                                                                     \
    Int info = 0;                                                                                 \
    const Int sign = 1;                                                                           \
    APSIS_OPENBLAS(p##trsyl_)("N", "N", &sign, &m, &n, a, &m, b, &n, c, &m, &scale, &info, 1, 1); \
    return info;                                                                                  \
  }
APSIS_LAPACK(s, float)
APSIS_LAPACK(d, double)
APSIS_LAPACK(c, std::complex<float>)
APSIS_LAPACK(z, std::complex<double>)
#undef APSIS_LAPACK

// Of orthogonal ("or") and unitary ("un") reflections.
#define APSIS_LAPACK_REFLECTIONS(p, kind, T)                                                    \
  Int orglq(Int m, Int n, Int k, T* a, const T* tau, Work<T>& work) {                           \
    const OpenblasCall alone;                                                                   \
    Int info = 0;                                                                               \
    with_work(work, [&](T* memory, Int length) {                                                \
      APSIS_OPENBLAS(p##kind##glq_)(&m, &n, &k, a, &m, tau, memory, &length, &info);            \
    });                                                                                         \
    return info;                                                                                \
  }                                                                                             \
  Int gehrd(Int n, T* a, T* q, Work<T>& work) {                                                 \
    const OpenblasCall alone;                                                                   \
    Int info = 0;                                                                               \
    const Int first = 1;                                                                        \
    std::vector<T> tau(static_cast<std::size_t>(n));                                            \
    with_work(work, [&](T* memory, Int length) {                                                \
      APSIS_OPENBLAS(p##gehrd_)(&n, &first, &n, a, &n, tau.data(), memory, &length, &info);     \
    });                                                                                         \
    std::copy_n(a, static_cast<std::size_t>(n) * static_cast<std::size_t>(n), q);               \
    Work<T> for_q;                                                                              \
    with_work(for_q, [&](T* memory, Int length) {                                               \
      APSIS_OPENBLAS(p##kind##ghr_)(&n, &first, &n, q, &n, tau.data(), memory, &length, &info); \
    });                                                                                         \
    return info;                                                                                \
  }

#define APSIS_LAPACK_REAL(p, T)                                                                              \
  Int syevd(char job, char uplo, Int n, T* a, T* values, Work<T>& work) {                                    \
    const OpenblasCall alone;                                                                                \
    Int info = 0;                                                                                            \
    const Int integers = job == 'V' ? 3 + 5 * n : 1;                                                         \
    work.integers.resize(static_cast<std::size_t>(integers));                                                \
    with_work(work, [&](T* memory, Int length) {                                                             \
      const Int most = length < 0 ? -1 : integers;                                                           \
      APSIS_OPENBLAS(p##syevd_)                                                                              \
      (&job, &uplo, &n, a, &n, values, memory, &length, work.integers.data(), &most, &info, 1, 1);           \
    });                                                                                                      \
    return info;                                                                                             \
  }                                                                                                          \
  Int gesdd(char job, Int m, Int n, T* a, T* s, T* u, T* vt, Int rows_of_vt, Work<T>& work) {                \
    const OpenblasCall alone;                                                                                \
    Int info = 0;                                                                                            \
    work.integers.resize(static_cast<std::size_t>(8 * std::min(m, n)));                                      \
    with_work(work, [&](T* memory, Int length) {                                                             \
      APSIS_OPENBLAS(p##gesdd_)                                                                              \
      (&job, &m, &n, a, &m, s, u, &m, vt, &rows_of_vt, memory, &length, work.integers.data(), &info, 1);     \
    });                                                                                                      \
    return info;                                                                                             \
  }                                                                                                          \
  Int geev(char job, Int n, T* a, std::complex<T>* values, std::complex<T>* v, Work<T>& work) {              \
    const OpenblasCall alone;                                                                                \
    Int info = 0;                                                                                            \
    const auto size = static_cast<std::size_t>(n);                                                           \
    work.reals.resize(job == 'V' ? size * (size + 2) : 2 * size);                                            \
    T *re = work.reals.data(), *im = re + n, *columns = im + n;                                              \
    with_work(work, [&](T* memory, Int length) {                                                             \
      APSIS_OPENBLAS(p##geev_)                                                                               \
      ("N", &job, &n, a, &n, re, im, nullptr, &n, columns, &n, memory, &length, &info, 1, 1);                \
    });                                                                                                      \
    for (Int i = 0; i < n; ++i) values[i] = {re[i], im[i]};                                                  \
    if (job == 'V') spread_pairs(n, im, columns, v);                                                         \
    return info;                                                                                             \
  }                                                                                                          \
  Int gees(Int n, T* a, T* z, Work<T>& work) {                                                               \
    const OpenblasCall alone;                                                                                \
    Int info = 0, chosen = 0;                                                                                \
    work.reals.resize(2 * static_cast<std::size_t>(n));                                                      \
    T *re = work.reals.data(), *im = re + n;                                                                 \
    with_work(work, [&](T* memory, Int length) {                                                             \
      APSIS_OPENBLAS(p##gees_)                                                                               \
      ("V", "N", nullptr, &n, a, &n, &chosen, re, im, z, &n, memory, &length, nullptr, &info, 1, 1);         \
    });                                                                                                      \
    return info;                                                                                             \
  }                                                                                                          \
  APSIS_LAPACK_REFLECTIONS(p, or, T)                                                                         \
  void gemm(Op a_op, Op b_op, Int m, Int n, Int k, const T* a, const T* b, T* c) {                           \
    const OpenblasCall alone;                                                                                \
    APSIS_OPENBLAS(cblas_##p##gemm)                                                                          \
    (CblasColMajor, transposition(a_op), transposition(b_op), m, n, k, 1, a, a_op == Op::None ? m : k, b,    \
     b_op == Op::None ? k : n, 0, c, m);                                                                     \
  }                                                                                                          \
  void trsm_by_rows(bool left, bool lower, Op op, bool unit, Int m, Int n, const T* a, T* b) {               \
    const OpenblasCall alone;                                                                                \
    /* One column, or one row: the routine for vectors reads the matrix where it is. */                      \
    if (left ? n == 1 : m == 1)                                                                              \
      return APSIS_OPENBLAS(cblas_##p##trsv)(                                                                \
          CblasRowMajor, triangle(lower),                                                                    \
          transposition((op != Op::None) != !left ? Op::Transpose : Op::None), diagonal(unit), left ? m : n, \
          a, left ? m : n, b, 1);                                                                            \
    APSIS_OPENBLAS(cblas_##p##trsm)                                                                          \
    (CblasRowMajor, left ? CblasLeft : CblasRight, triangle(lower), transposition(op), diagonal(unit), m, n, \
     1, a, left ? m : n, b, n);                                                                              \
  }
APSIS_LAPACK_REAL(s, float)
APSIS_LAPACK_REAL(d, double)
#undef APSIS_LAPACK_REAL

// LAPACK's bounds of the memory of real numbers (the documents of heevd and gesdd).
#define APSIS_LAPACK_COMPLEX(p, T)                                                                           \
  Int syevd(char job, char uplo, Int n, T* a, Real<T>* values, Work<T>& work) {                              \
    const OpenblasCall alone;                                                                                \
    Int info = 0;                                                                                            \
    const Int integers = job == 'V' ? 3 + 5 * n : 1;                                                         \
    const std::size_t size = static_cast<std::size_t>(n),                                                    \
                      reals = job == 'V' ? 1 + 5 * size + 2 * size * size : size;                            \
    work.integers.resize(static_cast<std::size_t>(integers));                                                \
    work.reals.resize(reals);                                                                                \
    with_work(work, [&](T* memory, Int length) {                                                             \
      const Int most = length < 0 ? -1 : integers;                                                           \
      const Int most_reals = length < 0 ? -1 : static_cast<Int>(reals);                                      \
      APSIS_OPENBLAS(p##heevd_)                                                                              \
      (&job, &uplo, &n, a, &n, values, memory, &length, work.reals.data(), &most_reals,                      \
       work.integers.data(), &most, &info, 1, 1);                                                            \
    });                                                                                                      \
    return info;                                                                                             \
  }                                                                                                          \
  Int gesdd(char job, Int m, Int n, T* a, Real<T>* s, T* u, T* vt, Int rows_of_vt, Work<T>& work) {          \
    const OpenblasCall alone;                                                                                \
    Int info = 0;                                                                                            \
    const auto least = static_cast<std::size_t>(std::min(m, n)),                                             \
               most = static_cast<std::size_t>(std::max(m, n));                                              \
    work.integers.resize(8 * least);                                                                         \
    work.reals.resize(job == 'N' ? 7 * least : least * std::max(5 * least + 7, 2 * (most + least) + 1));     \
    with_work(work, [&](T* memory, Int length) {                                                             \
      APSIS_OPENBLAS(p##gesdd_)                                                                              \
      (&job, &m, &n, a, &m, s, u, &m, vt, &rows_of_vt, memory, &length, work.reals.data(),                   \
       work.integers.data(), &info, 1);                                                                      \
    });                                                                                                      \
    return info;                                                                                             \
  }                                                                                                          \
  Int geev(char job, Int n, T* a, T* values, T* v, Work<T>& work) {                                          \
    const OpenblasCall alone;                                                                                \
    Int info = 0;                                                                                            \
    work.reals.resize(2 * static_cast<std::size_t>(n));                                                      \
    with_work(work, [&](T* memory, Int length) {                                                             \
      APSIS_OPENBLAS(p##geev_)                                                                               \
      ("N", &job, &n, a, &n, values, nullptr, &n, v, &n, memory, &length, work.reals.data(), &info, 1, 1);   \
    });                                                                                                      \
    return info;                                                                                             \
  }                                                                                                          \
  Int gees(Int n, T* a, T* z, Work<T>& work) {                                                               \
    const OpenblasCall alone;                                                                                \
    Int info = 0, chosen = 0;                                                                                \
    work.reals.resize(static_cast<std::size_t>(n));                                                          \
    std::vector<T> values(static_cast<std::size_t>(n));                                                      \
    with_work(work, [&](T* memory, Int length) {                                                             \
      APSIS_OPENBLAS(p##gees_)                                                                               \
      ("V", "N", nullptr, &n, a, &n, &chosen, values.data(), z, &n, memory, &length, work.reals.data(),      \
       nullptr, &info, 1, 1);                                                                                \
    });                                                                                                      \
    return info;                                                                                             \
  }                                                                                                          \
  APSIS_LAPACK_REFLECTIONS(p, un, T)                                                                         \
  void gemm(Op a_op, Op b_op, Int m, Int n, Int k, const T* a, const T* b, T* c) {                           \
    const OpenblasCall alone;                                                                                \
    const T one = 1, zero = 0;                                                                               \
    APSIS_OPENBLAS(cblas_##p##gemm)                                                                          \
    (CblasColMajor, transposition(a_op), transposition(b_op), m, n, k, &one, a, a_op == Op::None ? m : k, b, \
     b_op == Op::None ? k : n, &zero, c, m);                                                                 \
  }                                                                                                          \
  void trsm_by_rows(bool left, bool lower, Op op, bool unit, Int m, Int n, const T* a, T* b) {               \
    const OpenblasCall alone;                                                                                \
    const T one = 1;                                                                                         \
    APSIS_OPENBLAS(cblas_##p##trsm)                                                                          \
    (CblasRowMajor, left ? CblasLeft : CblasRight, triangle(lower), transposition(op), diagonal(unit), m, n, \
     &one, a, left ? m : n, b, n);                                                                           \
  }
APSIS_LAPACK_COMPLEX(c, std::complex<float>)
APSIS_LAPACK_COMPLEX(z, std::complex<double>)
#undef APSIS_LAPACK_COMPLEX
#undef APSIS_LAPACK_REFLECTIONS

}  // namespace apsis::detail::lapack
