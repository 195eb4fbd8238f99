#pragma once

#include <optional>

#include "apsis/core/array.hpp"
#include "apsis/ops/reduce.hpp"

namespace apsis::stats {

/// What equal entries get: the mean, the least or the greatest of their ranks, all the same with the next
/// ones one further (Dense), or ranks in their order (Ordinal).
enum class RankMethod : std::uint8_t { Average, Min, Max, Dense, Ordinal };
/// Options of `rankdata`.
struct RankOptions {
  RankMethod method = RankMethod::Average;
  std::optional<int> axis = {};  ///< without, all elements are one axis
};
/// The ranks of entries along an axis, from 1 on, in f64; NaN for all of an axis that has a NaN. Without
/// derivative. (scipy.stats.rankdata)
Array rankdata(const Array& x, const RankOptions& options = {}, Loc loc = Loc::here());

/// Options of `sem`.
struct SemOptions {
  std::optional<int> axis = 0;  ///< empty: all elements
  double ddof = 1;              ///< the divisor of the variance is the number of entries less this
  KeepDims keepdims = false;    ///< the reduced axes stay, with size 1
};
/// The standard error of the mean: the standard deviation over √n. (scipy.stats.sem)
Array sem(const Array& x, const SemOptions& options = {}, Loc loc = Loc::here());

}  // namespace apsis::stats
