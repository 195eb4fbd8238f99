// Triangles of tall matrices, and the least squares that are solved with them.

#include "solve/triangular.hpp"

#include "apsis/array/linalg.hpp"
#include "apsis/array/shape.hpp"
#include "apsis/control/scan.hpp"
#include "apsis/control/while_loop.hpp"
#include "solve/support.hpp"

namespace apsis::detail {
namespace {

/// Columns up to which the steps are written out, and up to which they are a loop; above, reflections of
/// blocks are faster.
constexpr std::int64_t most_written_out = 8, most_columns = 32;

// Modified Gram-Schmidt with b as a last column, which is as good for least squares as reflections: R and c
// are those of a matrix and a right side that differ from A and b by rounding (Björck, Solving linear least
// squares problems by Gram-Schmidt orthogonalization, 1967).
TriangularSystem orthogonalized(const Array& a, const Array& b) {
  const std::int64_t n = a.dim(1);
  const auto inverse_length = [](const Array& square) { return 1. / sqrt(where(square > 0., square, 1.)); };
  Array left = concatenate({transpose(a), expand_dims(b, 0)});
  if (n > most_written_out) {
    struct Made {
      Array left, rows;
    };
    const Array numbers = arange(n + 1);
    const Made made = fori_loop(
        0, n,
        [&](const Array& k, const Made& before) {
          const Array v = before.left[k], products = matmul(before.left, v),
                      over = inverse_length(products[k]);
          const Array row = where(products[k] > 0. && numbers >= k, products * over, 0.);
          const Array others = where(numbers > k, row * over, 0.);
          return Made{before.left - expand_dims(others, 1) * v, before.rows.at(k).set(row)};
        },
        Made{left, zeros({n, n + 1}, a.dtype())});
    return {made.rows(range(), range(0, n)), made.rows(range(), n)};
  }
  std::vector<Array> rows;
  for (std::int64_t k = 0; k < n; ++k) {
    const Array v = left[0], products = matmul(left, v);
    const Array over = inverse_length(products[0]), row = where(products[0] > 0., products * over, 0.);
    rows.push_back(k == 0 ? row : concatenate({zeros({k}, a.dtype()), row}));
    const Array others = row[range(1, {})];
    left = left[range(1, {})] - expand_dims(others * over, 1) * v;
  }
  const Array all = stack(rows);
  return {all(range(), range(0, n)), all(range(), n)};
}

TriangularSystem reflected(const Array& a, const Array& b) {
  const std::int64_t m = a.dim(0), n = a.dim(1);
  const linalg::QRResult factors = linalg::qr(a);
  Array r = factors.r, c = matmul(b, factors.q);
  if (m < n) {
    r = concatenate({r, zeros({n - m, n}, a.dtype())});
    c = concatenate({c, zeros({n - m}, a.dtype())});
  }
  const Array turned = linalg::diagonal(r) < 0.;
  return {where(expand_dims(turned, 1), -r, r), where(turned, -c, c)};
}

}  // namespace

TriangularSystem triangular_system(const Array& a, const Array& b) {
  return a.dim(1) <= most_columns ? orthogonalized(a, b) : reflected(a, b);
}
TriangularSystem damped_system(const TriangularSystem& system, const Array& lambda) {
  const std::int64_t n = system.c.size();
  const Array under = sqrt(lambda) * eye(n, -1, 0, system.c.dtype());
  return triangular_system(concatenate({system.r, under}), concatenate({system.c, zeros_like(system.c)}));
}

namespace {

/// R with 1 where its diagonal is zero.
Array with_diagonal(const Array& r) {
  const Array missing = astype(linalg::diagonal(r) == 0., r.dtype());
  return r + expand_dims(missing, 1) * eye(r.dim(0), -1, 0, r.dtype());
}

/// Whether no singular value but those of rows and columns of zeros is at most `least` times the largest: by
/// the length of R⁻¹, which is no less than the inverse of the least one.
Array has_full_rank(const Array& r, double least) {
  const Array squares = square(r), empty = sum(squares, {.axis = 0}) + sum(squares, {.axis = 1}) == 0.;
  const Array whole = with_diagonal(r);
  const Array inverse = linalg::solve_triangular(whole, eye(r.dim(0), -1, 0, r.dtype()));
  return all(linalg::diagonal(r) != 0. || empty) &&
         sum(square(inverse)) * sum(square(whole)) * (least * least) < 1.;
}

}  // namespace

Array solve_triangle(const Array& r, const Array& b, bool transposed) {
  return linalg::solve_triangular(with_diagonal(r), b, {.transpose = transposed});
}

Array shortest_solution(const TriangularSystem& system, double least, Loc loc) {
  const auto& [r, c] = system;
  struct Search {
    Array x, r, open;
  };
  // A loop of at most one trip: lanes whose rank is full do not wait for singular values. R is carried, for
  // what does not change in a loop is computed before it.
  return while_loop([](const Search& s) { return s.open; },
                    [&](const Search& s) {
                      const linalg::SVDResult svd = linalg::svd(s.r);
                      const Array counts = svd.s > least * largest(svd.s);
                      const Array along = where(counts, matmul(c, svd.u) / where(counts, svd.s, 1.), 0.);
                      return Search{-matmul(along, svd.vh), svd.vh, array(false)};
                    },
                    Search{-solve_triangle(r, c), r, !has_full_rank(r, least)}, {}, loc)
      .x;
}

}  // namespace apsis::detail
