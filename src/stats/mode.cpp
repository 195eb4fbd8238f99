// Ranks, modes and the error of a mean. Entries are sorted once along the last axis; a run is a stretch of
// equal ones.

#include "apsis/array/reduce.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/shape.hpp"
#include "apsis/ops/sort.hpp"
#include "apsis/stats/sample.hpp"
#include "stats/messages.hpp"
#include "stats/support.hpp"

namespace apsis::stats {
using namespace detail;
namespace {

/// How many entries equal each one, along the last axis of sorted ones.
Array counts_of(const Array& sorted) {
  const std::int64_t n = sorted.dim(-1);
  const Array here = iota(sorted.shape(), sorted.ndim() - 1);
  const Array next = take(sorted, minimum(arange(n) + 1, n - 1), -1);
  const Array previous = take(sorted, maximum(arange(n) - 1, 0), -1);
  const auto differs = [&](const Array& other) {
    return is_floating(sorted.dtype()) ? sorted != other && !(isnan(sorted) && isnan(other))
                                       : sorted != other;
  };
  const Array starts = here == 0 || differs(previous), ends = here == n - 1 || differs(next);
  const Array first = cummax(where(starts, here, 0), {.axis = -1});
  const Array last = cummin(where(ends, here, n - 1), {.axis = -1, .reverse = true});
  return last - first + 1;
}

}  // namespace

Mode mode(const Array& x, const ModeOptions& options, Loc loc) {
  const LocScope place(loc);
  const Array lines = options.axis ? moveaxis(x, *options.axis, -1) : ravel(x);
  if (lines.dim(-1) == 0) fail(messages::stats_no_mode, {to_string(x.shape())});
  const Array sorted = sort(lines);
  const Array counts = counts_of(sorted), at = argmax(counts, {.axis = -1, .keepdims = true});
  const auto shaped = [&](const Array& r) {
    const Array one = take_along_axis(r, at, -1);
    if (!options.keepdims) return squeeze(one, {-1});
    if (!options.axis) return reshape(one, Shape(Dims::filled(static_cast<std::size_t>(x.ndim()), 1)));
    return moveaxis(one, -1, *options.axis);
  };
  return {shaped(sorted), shaped(counts)};
}

}  // namespace apsis::stats
