#pragma once

// More reductions, and those that leave NaN out, as in jax.numpy.

#include <utility>

#include "apsis/ops/reduce.hpp"

namespace apsis {

/// Options of `average`.
struct AverageOptions {
  Axes axis = {};
  Array weights = {};         ///< of x's shape, or of the reduced axes'; without, all 1
  KeepDims keepdims = false;  ///< the reduced axes stay, with size 1
};
/// sum(x · weights) / sum(weights). Throws for weights of another shape.
Array average(const Array& x, const AverageOptions& options = {}, Loc loc = Loc::here());
/// max(x) - min(x). Takes `axis` and `keepdims`.
Array ptp(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
/// How many elements are not 0: i64. Takes `axis` and `keepdims`.
Array count_nonzero(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());

// Without NaN: those do not count. Where all are NaN, extrema and means are NaN, positions -1; with
// `initial` that is the extremum. Each takes the options of the function whose name it has.

Array nansum(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());     ///< NaN as 0.
Array nanprod(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());    ///< NaN as 1.
Array nanmean(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());    ///< As mean.
Array nanvar(const Array& x, const VarianceOptions& options = {}, Loc loc = Loc::here());   ///< As var.
Array nanstd(const Array& x, const VarianceOptions& options = {}, Loc loc = Loc::here());   ///< As std_.
Array nanmax(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());     ///< As max.
Array nanmin(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());     ///< As min.
Array nanargmax(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());  ///< As argmax.
Array nanargmin(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());  ///< As argmin.
Array nancumsum(const Array& x, const CumulativeOptions& options = {}, Loc loc = Loc::here());  ///< NaN as 0.
Array nancumprod(const Array& x, const CumulativeOptions& options = {},
                 Loc loc = Loc::here());  ///< NaN as 1.

/// Options of `cumulative_sum` and `cumulative_prod`.
struct RunningOptions {
  int axis = -1;
  bool include_initial = false;  ///< begins with the result of nothing: one entry more
};
/// Running sums along an axis.
Array cumulative_sum(const Array& x, const RunningOptions& options = {}, Loc loc = Loc::here());
/// Running products along an axis.
Array cumulative_prod(const Array& x, const RunningOptions& options = {}, Loc loc = Loc::here());

/// log(Σ exp(x)) of the entries up to each, without overflow. Floating. Takes one axis; without, all elements
/// in row-major order. (jax.lax.cumlogsumexp)
Array cumlogsumexp(const Array& x, const CumulativeOptions& options = {}, Loc loc = Loc::here());

}  // namespace apsis
