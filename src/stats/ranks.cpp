#include "apsis/stats/ranks.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/reduce.hpp"
#include "apsis/ops/select.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/ops/sort.hpp"

namespace apsis::stats {
namespace {

/// Along the last axis of sorted entries: whether each is the first (the last) of those that equal it.
Array at_ends_of_equals(const Array& sorted, bool first) {
  const Array changes = sorted(ellipsis, range(1, {})) != sorted(ellipsis, range(0, -1));
  Dims none = Dims::filled(sorted.shape().size(), 0), one = none;
  one[one.size() - 1] = 1;
  return first ? pad(changes, one, none, true) : pad(changes, none, one, true);
}

/// Ranks along the last axis of sorted entries.
Array sorted_ranks(const Array& sorted, RankMethod method) {
  const int last = sorted.ndim() - 1;
  const Array ranks = iota(sorted.shape(), last) + 1;
  if (method == RankMethod::Ordinal || sorted.size() == 0) return ranks;
  const Array is_first = at_ends_of_equals(sorted, true);
  if (method == RankMethod::Dense) return cumsum(astype(is_first, i64), {.axis = last});
  const Array least = cummax(where(is_first, ranks, 0), {.axis = last});
  if (method == RankMethod::Min) return least;
  const Array is_last = at_ends_of_equals(sorted, false);
  const Array greatest = cummin(where(is_last, ranks, sorted.dim(last)), {.axis = last, .reverse = true});
  return method == RankMethod::Max ? greatest : (least + greatest) / 2.;
}

}  // namespace

Array rankdata(const Array& x, const RankOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array values = stop_gradient(options.axis ? moveaxis(x, *options.axis, -1) : ravel(x));
  const Array order = argsort(values);
  const Array ranks = astype(sorted_ranks(take_along_axis(values, order, -1), options.method), f64);
  // Where each entry has gone: the permutation that undoes the order.
  const Array own = take_along_axis(ranks, argsort(order), -1);
  const Array has_nan = any(isnan(values), {.axis = -1, .keepdims = true});
  const Array out = where(has_nan, std::numeric_limits<double>::quiet_NaN(), own);
  return options.axis ? moveaxis(out, -1, *options.axis) : out;
}

Array sem(const Array& x, const SemOptions& options, Loc loc) {
  const LocScope place(loc);
  const Axes axis = options.axis ? Axes(*options.axis) : Axes();
  const std::int64_t n = options.axis ? x.dim(*options.axis) : x.size();
  return std_(x, {.axis = axis, .keepdims = options.keepdims, .ddof = options.ddof}) /
         std::sqrt(static_cast<double>(n));
}

}  // namespace apsis::stats
