// Which code runs over small matrices: that of registers which they fill. Many of them are shared out to
// threads.

#include "base/processor.hpp"
#include "ops/each_matrix.hpp"
#include "ops/packed_matrices.hpp"
#include "ops/small_matrix_kernel.hpp"

namespace apsis::detail {
namespace {

template <class T>
const SmallMatrixCodes<T>& wide_code() {
  static const SmallMatrixCodes<T>& wide =
      has_avx512() ? avx512_small_matrix_code<T>() : avx2_small_matrix_code<T>();
  return wide;
}

/// What is `elements` further on.
template <class T>
Parted<T> further(const Parted<T>& p, std::int64_t elements) {
  return {p.re + elements, p.im ? p.im + elements : nullptr, p.packed};
}
template <class T>
RowNumbers<T> further(const RowNumbers<T>& r, std::int64_t elements) {
  return {r.at + elements, r.packed};
}

/// Shares the matrices of each call out, by whole packets.
template <class T, bool complex>
struct Shared {
  using Code = SmallMatrixCode<T>;
  using From = typename Code::From;
  using To = typename Code::To;

  static const Code& code() { return complex ? wide_code<T>().complex : wide_code<T>().real; }

  /// Calls run(first, count) for parts of `count` matrices: each takes so many multiplications, and that many
  /// elements are read and written.
  template <class Run>
  static void share(std::int64_t count, double multiplications, double elements, const Run& run) {
    const double operations = (complex ? 4 : 1) * 2 * multiplications + 8 * elements;
    each_range(count, most_in_packet, operations,
               [&](std::int64_t first, std::int64_t end) { run(first, end - first); });
  }

  static void lu(std::int64_t count, int rows, int columns, From a, To lu, RowNumbers<std::int32_t> pivots,
                 RowNumbers<std::int32_t> permutation) {
    const int size = rows * columns, least = std::min(rows, columns);
    share(count, size * least, size, [&](std::int64_t first, std::int64_t n) {
      code().lu(n, rows, columns, further(a, first * size), further(lu, first * size),
                further(pivots, first * least), further(permutation, first * rows));
    });
  }
  static void cholesky(std::int64_t count, int n, From a, To l) {
    share(count, n * n * n / 3., n * n, [&](std::int64_t first, std::int64_t part) {
      code().cholesky(part, n, further(a, first * n * n), further(l, first * n * n));
    });
  }
  static void qr(std::int64_t count, int rows, int columns, int reflected, From a, To q, To r) {
    const int size = rows * columns;
    share(count, 2. * size * reflected, size, [&](std::int64_t first, std::int64_t n) {
      code().qr(n, rows, columns, reflected, further(a, first * size), further(q, first * rows * reflected),
                further(r, first * reflected * columns));
    });
  }
  static void triangular_solve(const TriangularSolveParams& p, std::int64_t matrices, std::int64_t count,
                               int n, int columns, From a, From b, To x) {
    if (matrices > 1 && matrices != count)
      return code().triangular_solve(p, matrices, count, n, columns, a, b, x);
    share(count, n * n * columns / 2., n * (n + columns), [&](std::int64_t first, std::int64_t part) {
      const std::int64_t at = first * n * columns;
      const std::int64_t matrix = matrices > 1 ? first : 0;
      code().triangular_solve(p, std::min(matrices, part), part, n, columns, further(a, matrix * n * n),
                              further(b, at), further(x, at));
    });
  }
  static void lu_solve(bool transposed, std::int64_t matrices, std::int64_t count, int n, int columns,
                       From lu, RowNumbers<const std::int32_t> pivots, From b, To x) {
    if (matrices != count) return code().lu_solve(transposed, matrices, count, n, columns, lu, pivots, b, x);
    share(count, n * n * columns, n * (n + columns), [&](std::int64_t first, std::int64_t part) {
      const std::int64_t at = first * n * columns;
      code().lu_solve(transposed, part, part, n, columns, further(lu, first * n * n),
                      further(pivots, first * n), further(b, at), further(x, at));
    });
  }
  static void solve(std::int64_t count, int n, int columns, From a, From b, To x) {
    share(count, n * n * (n / 3. + columns), n * (n + columns), [&](std::int64_t first, std::int64_t part) {
      const std::int64_t at = first * n * columns;
      code().solve(part, n, columns, further(a, first * n * n), further(b, at), further(x, at));
    });
  }

  static constexpr Code all = {lu, cholesky, qr, triangular_solve, lu_solve, solve};
};

template <class T>
const SmallMatrixCodes<T>& code_for(std::int64_t count) {
  static const SmallMatrixCodes<T>& narrow = narrow_small_matrix_code<T>();
  static constexpr SmallMatrixCodes<T> shared = {Shared<T, false>::all, Shared<T, true>::all};
  if (count * static_cast<std::int64_t>(sizeof(T)) <= 16) return narrow;
  return shared;
}

}  // namespace

template <>
const SmallMatrixCodes<float>& small_matrix_code(std::int64_t count) {
  return code_for<float>(count);
}
template <>
const SmallMatrixCodes<double>& small_matrix_code(std::int64_t count) {
  return code_for<double>(count);
}

}  // namespace apsis::detail
