#pragma once

// Convolutions, covariances and histograms, as in jax.numpy.

#include <utility>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis {

/// Which part of a convolution: all places where the operands overlap, as many as the longer operand has
/// entries, or those where the shorter one lies inside of the longer.
enum class ConvolveMode : std::uint8_t { Full, Same, Valid };
/// Σⱼ a[j] v[i - j], of vectors. Throws for empty ones.
Array convolve(const Array& a, const Array& v, ConvolveMode mode = ConvolveMode::Full, Loc loc = Loc::here());
/// Σⱼ a[i + j] v[j], of vectors. Throws for empty ones.
Array correlate(const Array& a, const Array& v, ConvolveMode mode = ConvolveMode::Valid,
                Loc loc = Loc::here());

/// Options of `cov`.
struct CovOptions {
  Array y = {};         ///< further variables
  bool rows = true;     ///< each row is a variable, each column an observation; otherwise the reverse
  double ddof = 1;      ///< the divisor is the number of observations less this
  Array fweights = {};  ///< how often each observation was made: integers
  Array aweights = {};  ///< how much each observation counts
};
/// The covariance matrix of variables; of a single one their variance.
Array cov(const Array& x, const CovOptions& options = {}, Loc loc = Loc::here());
/// Options of `corrcoef`.
struct CorrcoefOptions {
  Array y = {};      ///< further variables
  bool rows = true;  ///< each row is a variable, each column an observation; otherwise the reverse
};
/// The correlation matrix of variables: Pearson's coefficients.
Array corrcoef(const Array& x, const CorrcoefOptions& options = {}, Loc loc = Loc::here());

/// Options of `histogram`.
struct HistogramOptions {
  std::int64_t bins = 10;     ///< how many, of equal width
  Array edges = {};           ///< their edges instead, ascending
  Array low = {}, high = {};  ///< the first and the last edge; without, the least and the greatest element
  Array weights = {};         ///< of x's shape: what each element counts; without, 1
  bool density = false;       ///< divided by the bins' widths and the total
};
/// How many elements are in each bin (the last one with its upper edge), of floating dtype, and the edges.
std::pair<Array, Array> histogram(const Array& x, const HistogramOptions& options = {},
                                  Loc loc = Loc::here());
/// The edges of the bins of `histogram`.
Array histogram_bin_edges(const Array& x, const HistogramOptions& options = {}, Loc loc = Loc::here());
/// Options of `histogramdd`: one entry an axis of the points, or one for all.
struct HistogramddOptions {
  std::vector<std::int64_t> bins = {10};  ///< how many, of equal width
  std::vector<Array> edges = {};          ///< their edges instead, ascending, of each axis
  Array low = {},
        high = {};       ///< the first and the last edges; without, the least and the greatest coordinate
  Array weights = {};    ///< of each point; without, 1
  bool density = false;  ///< divided by the bins' volumes and the total
};
/// How many of the points [n, d] are in each bin, an array of d axes, of floating dtype, and the edges along
/// each axis. Upper edges are not within their bins, but for the last.
std::pair<Array, std::vector<Array>> histogramdd(const Array& points, const HistogramddOptions& options = {},
                                                 Loc loc = Loc::here());
/// What `histogram2d` returns.
struct Histogram2d {
  Array counts, x_edges, y_edges;
};
/// Of the points (x[i], y[i]): `histogramdd` of two axes, that of x first.
Histogram2d histogram2d(const Array& x, const Array& y, const HistogramddOptions& options = {},
                        Loc loc = Loc::here());
/// The number of the bin that each element is in: 0 is below the first edge. `bins` ascend, or descend; the
/// lower edge belongs to a bin, or with `right` the upper one.
Array digitize(const Array& x, const Array& bins, bool right = false, Loc loc = Loc::here());

}  // namespace apsis
