#pragma once

// Differences, sums, interpolation and polynomials of sampled functions, as in jax.numpy.

#include <cstdint>
#include <utility>

#include "apsis/core/array.hpp"

namespace apsis {

/// Options of `interp`: what stands for x outside of the table; without, its first and last value.
struct InterpOptions {
  Array left = {};
  Array right = {};
  Array period = {};  ///< x and xp are meant modulo this; the points need not ascend then
};
/// The piecewise linear function through the points (xp, fp), at x. xp ascends.
Array interp(const Array& x, const Array& xp, const Array& fp, const InterpOptions& options = {},
             Loc loc = Loc::here());
/// The derivative along an axis by central differences, one-sided at both ends. `spacing` is the distance of
/// the points, or their places (a vector). Throws for fewer than two points.
Array gradient(const Array& f, const Array& spacing = 1., int axis = -1, Loc loc = Loc::here());

/// Options of `diff`.
struct DiffOptions {
  int n = 1;  ///< how often
  int axis = -1;
  Array prepend = {}, append = {};  ///< entries, or scalars, before and after the others
};
/// Differences of neighbours, n times.
Array diff(const Array& x, const DiffOptions& options, Loc loc = Loc::here());
/// Differences of neighbours among all elements, with entries before and after them.
Array ediff1d(const Array& x, const Array& to_begin = {}, const Array& to_end = {}, Loc loc = Loc::here());

/// Options of `trapezoid` and `cumulative_trapezoid`.
struct TrapezoidOptions {
  Array x = {};   ///< the places: a vector, or of y's shape; without, at distances `dx`
  Array dx = 1.;  ///< the distance
  int axis = -1;
};
/// The integral of what is linear between the points.
Array trapezoid(const Array& y, const TrapezoidOptions& options = {}, Loc loc = Loc::here());
/// That integral from the first point to each other one: an entry fewer. (scipy: cumulative_trapezoid)
Array cumulative_trapezoid(const Array& y, const TrapezoidOptions& options = {}, Loc loc = Loc::here());

/// Options of `unwrap`.
struct UnwrapOptions {
  Array discont = {};                      ///< jumps below this stay; without, half the period
  Array period = 6.283185307179586476925;  ///< 2π
  int axis = -1;
};
/// Angles with multiples of the period added so that neighbours are near each other.
Array unwrap(const Array& x, const UnwrapOptions& options = {}, Loc loc = Loc::here());

// Polynomials are vectors of coefficients, that of the highest power first.

/// The polynomial's value at x, by Horner's rule.
Array polyval(const Array& p, const Array& x, Loc loc = Loc::here());
Array polyadd(const Array& a, const Array& b, Loc loc = Loc::here());  ///< The sum.
Array polysub(const Array& a, const Array& b, Loc loc = Loc::here());  ///< The difference.
Array polymul(const Array& a, const Array& b, Loc loc = Loc::here());  ///< The product.
/// The quotient and the remainder of u by v, both floating: the quotient of u.size() - v.size() + 1 entries,
/// at least one, the remainder of v.size() - 1, at least one, or u's, where u has fewer. Throws for an empty
/// polynomial.
std::pair<Array, Array> polydiv(const Array& u, const Array& v, Loc loc = Loc::here());
/// The polynomial [n + 1] with these n roots, whose first coefficient is 1. Floating.
Array poly(const Array& roots, Loc loc = Loc::here());
/// Options of `roots`.
struct RootsOptions {
  /// Leading zeros are left out, which must be known; otherwise there is a NaN for each, behind the roots.
  bool strip_zeros = true;
};
/// The roots of a polynomial [n + 1]: complex, [n] or fewer, in no order. The eigenvalues of its companion
/// matrix; multiple roots have no derivative.
Array roots(const Array& p, const RootsOptions& options = {}, Loc loc = Loc::here());
/// Where `trim_zeros` trims.
enum class TrimSide : std::uint8_t { Both, Front, Back };
/// A vector without the zeros at its ends, which must be known.
Array trim_zeros(const Array& x, TrimSide side = TrimSide::Both, Loc loc = Loc::here());

/// Options of `polyfit`.
struct PolyfitOptions {
  double rcond = -1;  ///< singular values up to this times the largest count as zero; negative: points · ε
  Array w = {};       ///< [m]: each residual counts times this; without, 1
};
/// The polynomial [degree + 1] of least squares through the points x [m], y [m]; of y [m, k] one a column.
/// Where several are best, the shortest in powers of unit length. By the singular values of the Vandermonde
/// matrix. Throws for no points, and where x, y and w are not of one length.
Array polyfit(const Array& x, const Array& y, int degree, const PolyfitOptions& options = {},
              Loc loc = Loc::here());
/// The derivative of order m.
Array polyder(const Array& p, int m = 1, Loc loc = Loc::here());
/// The antiderivative of order m whose constants are 0.
Array polyint(const Array& p, int m = 1, Loc loc = Loc::here());

}  // namespace apsis
