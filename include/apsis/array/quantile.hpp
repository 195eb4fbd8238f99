#pragma once

// Order statistics, as in jax.numpy. Integers become floating. A NaN among the elements makes the result NaN;
// the nan-forms leave it out.

#include "apsis/ops/reduce.hpp"

namespace apsis {

/// What a quantile between two elements is: on the line through both, one of them, their mean, or the nearer
/// one (of two equally near, that of even number).
enum class QuantileMethod : std::uint8_t { Linear, Lower, Higher, Midpoint, Nearest };
/// Options of `quantile` and `percentile`.
struct QuantileOptions {
  Axes axis = {};
  QuantileMethod method = QuantileMethod::Linear;
  KeepDims keepdims = false;  ///< the reduced axes stay, with size 1
};

/// The element in the middle, or the mean of both there.
Array median(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
/// The value that a part q (0 to 1) of the elements does not exceed. q is a scalar, or a vector, whose axis
/// comes first. NaN where q is outside of 0 to 1. Throws over no elements.
Array quantile(const Array& x, const Array& q, const QuantileOptions& options = {}, Loc loc = Loc::here());
/// quantile(x, q / 100).
Array percentile(const Array& x, const Array& q, const QuantileOptions& options = {}, Loc loc = Loc::here());

/// As median, without NaN.
Array nanmedian(const Array& x, const ReduceOptions& options = {}, Loc loc = Loc::here());
/// As quantile, without NaN.
Array nanquantile(const Array& x, const Array& q, const QuantileOptions& options = {}, Loc loc = Loc::here());
/// As percentile, without NaN.
Array nanpercentile(const Array& x, const Array& q, const QuantileOptions& options = {},
                    Loc loc = Loc::here());

}  // namespace apsis
