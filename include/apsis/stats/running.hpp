#pragma once

// Statistics of observations that come one after the other, without keeping these. Each is a value: a tree to
// carry through loops, to map over and to save.
//
//   auto m = stats::running_moments();
//   m = fori_loop(0, 100, [&](const Array& i, const stats::RunningMoments& s) { return s.add(f(i)); }, m);
//   m.mean;  m.variance(1);

#include "apsis/core/array.hpp"

namespace apsis::stats {

/// Mean and variance of arrays of one shape, element by element (Welford 1962; Chan, Golub and LeVeque
/// 1983).
struct RunningMoments {
  Array count;    ///< i64: of observations
  Array mean;     ///< 0 of none
  Array squares;  ///< the sum of (x - mean)²

  /// With one more observation. Throws where it has another shape.
  RunningMoments add(const Array& x, Loc loc = Loc::here()) const;
  /// With the rows of xs, [n, shape…].
  RunningMoments add_rows(const Array& xs, Loc loc = Loc::here()) const;
  /// With the observations of another one.
  RunningMoments merge(const RunningMoments& other, Loc loc = Loc::here()) const;
  /// The mean square of what lies around the mean, the divisor count - ddof; NaN unless that is positive.
  Array variance(double ddof = 0, Loc loc = Loc::here()) const;
  /// The standard deviation of the mean of independent observations: sqrt(variance(1) / count).
  Array standard_error(Loc loc = Loc::here()) const;
};
/// Of nothing yet; observations are of this shape. Throws for dtypes that are not floating.
RunningMoments running_moments(const Shape& shape = {}, Dtype dtype = f64, Loc loc = Loc::here());

/// Means and covariances of vectors [d].
struct RunningCovariance {
  Array count;     ///< i64: of observations
  Array mean;      ///< [d]
  Array products;  ///< [d, d]: the sum of (x - mean)(x - mean)ᵀ

  /// With one more observation. Throws where it has another shape.
  RunningCovariance add(const Array& x, Loc loc = Loc::here()) const;
  /// With the rows of xs, [n, d].
  RunningCovariance add_rows(const Array& xs, Loc loc = Loc::here()) const;
  /// With the observations of another one.
  RunningCovariance merge(const RunningCovariance& other, Loc loc = Loc::here()) const;
  /// The covariance matrix, the divisor count - ddof; NaN unless that is positive.
  Array covariance(double ddof = 1, Loc loc = Loc::here()) const;
};
/// Of nothing yet; observations have d elements. Throws for dtypes that are not floating.
RunningCovariance running_covariance(std::int64_t d, Dtype dtype = f64, Loc loc = Loc::here());

/// A quantile of arrays of one shape, element by element, by five markers that move along parabolas: P² (Jain
/// and Chlamtac 1985). An estimate that depends on the order; of up to five observations exact, with lines
/// between them. A NaN among the observations makes it NaN. There is no merge: markers of two parts do not
/// tell those of both. Add the parts one after the other.
struct RunningQuantile {
  Array p;          ///< f64: which, from 0 to 1
  Array count;      ///< i64: of observations
  Array heights;    ///< [5, shape…]: the markers, ascending; +inf where there is none yet
  Array positions;  ///< f64[5, shape…]: how many observations are up to each

  /// With one more observation. Throws where it has another shape.
  RunningQuantile add(const Array& x, Loc loc = Loc::here()) const;
  /// With the rows of xs, [n, shape…], in their order.
  RunningQuantile add_rows(const Array& xs, Loc loc = Loc::here()) const;
  /// The quantile; NaN of nothing.
  Array value(Loc loc = Loc::here()) const;
};
/// Of nothing yet; observations are of this shape. Throws for p that is no scalar, and for dtypes that are
/// not floating; p outside of 0 to 1 gives NaN.
RunningQuantile running_quantile(const Array& p, const Shape& shape = {}, Dtype dtype = f64,
                                 Loc loc = Loc::here());

}  // namespace apsis::stats
