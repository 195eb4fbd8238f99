#pragma once

// What samples say: the most frequent value, and a density that is estimated of them, with the names of
// jax.scipy.stats. Ranks are in ranks.hpp.

#include <optional>

#include "apsis/core/array.hpp"
#include "apsis/ops/reduce.hpp"

namespace apsis::stats {

/// Options of `mode`.
struct ModeOptions {
  std::optional<int> axis = 0;  ///< std::nullopt: of all entries
  KeepDims keepdims = false;    ///< the axis stays, with size 1
};
/// The most frequent value, and how often it is there (i64).
struct Mode {
  Array mode, count;
};
/// The most frequent value along an axis, the least of several; NaNs count as one value, the greatest. Throws
/// for an empty axis.
Mode mode(const Array& x, const ModeOptions& options = {}, Loc loc = Loc::here());

/// How wide the kernels of a density estimate are, relative to the standard deviation of its n points in d
/// dimensions: n^(-1/(d + 4)) (Scott 1992) or (n (d + 2) / 4)^(-1/(d + 4)) (Silverman 1986).
enum class Bandwidth : std::uint8_t { Scott, Silverman };
/// Options of `gaussian_kde`.
struct KdeOptions {
  Bandwidth bandwidth = Bandwidth::Scott;
  Array factor = {};   ///< the width itself, a scalar, instead of a rule
  Array weights = {};  ///< how much each point counts, [n]; they are divided by their sum
};

/// A density that is the mean of normal ones around the points of a dataset. `points` are [d, m], or [m] in
/// one dimension.
struct GaussianKde {
  Array dataset;     ///< [d, n]
  Array weights;     ///< [n], of sum 1
  Array neff;        ///< 1 / Σ weights²
  Array covariance;  ///< of a kernel, [d, d]

  /// The density at the points, [m]. Throws for points of another dimension, as all that follow.
  Array pdf(const Array& points, Loc loc = Loc::here()) const;
  /// Its logarithm, without underflow.
  Array logpdf(const Array& points, Loc loc = Loc::here()) const;
  /// The integral of the density times that of a normal distribution: `mean` is [d], `cov` [d, d], or numbers
  /// in one dimension.
  Array integrate_gaussian(const Array& mean, const Array& cov, Loc loc = Loc::here()) const;
  /// The probability of an interval, in one dimension.
  Array integrate_box_1d(const Array& low, const Array& high, Loc loc = Loc::here()) const;
  /// The integral of the product of two densities.
  Array integrate_kde(const GaussianKde& other, Loc loc = Loc::here()) const;
  /// Draws from the density, [d, count]; those of JAX for the same key.
  Array resample(const Array& key, std::int64_t count, Loc loc = Loc::here()) const;
};
/// A density estimate from a dataset [d, n] of n points, or [n] in one dimension. Throws for fewer than two
/// numbers, and for weights that are not a vector of n. (scipy.stats.gaussian_kde)
GaussianKde gaussian_kde(const Array& dataset, const KdeOptions& options = {}, Loc loc = Loc::here());

}  // namespace apsis::stats
