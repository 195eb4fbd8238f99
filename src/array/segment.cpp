#include "apsis/array/segment.hpp"

#include <algorithm>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/gather_scatter.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;
namespace {

/// How many segments there are, and that the arguments fit.
std::int64_t count_of(const char* where, const Array& x, const Array& ids, const SegmentOptions& options) {
  check_rank(where, x.ndim() >= 1, "an axis or more", x);
  check_dtype(where, is_integer(ids.dtype()), "integers as segments", ids);
  if (ids.ndim() != 1 || ids.size() != x.dim(0))
    fail(messages::array_sizes,
         {where, to_string(x.aval()), "segments " + to_string(ids.aval()), "give one an entry of axis 0"});
  std::int64_t n = options.segments;
  if (n < -1) fail(messages::array_count, {where, std::to_string(n)});
  if (n >= 0) return n;
  const Array greatest = concrete_value(ids.size() > 0 ? astype(max(ids), i64) : Array(-1));
  if (greatest.is_empty()) fail(messages::array_traced, {where, "{.segments = n}"});
  return std::max<std::int64_t>(greatest.item<std::int64_t>() + 1, 0);
}

/// The entries of axis 0 into their segments; those of negative and too great ones nowhere.
Array into_segments(const char* where, const Array& x, const Array& ids, const SegmentOptions& options,
                    ScatterUpdate update, const Array& empty) {
  const std::int64_t n = count_of(where, x, ids, options);
  const Array segments = full(with_size_at(x.shape(), 0, n), empty);
  if (n == 0) return segments;
  Dims window;
  for (int axis = 1; axis < x.ndim(); ++axis) window.push_back(axis);
  return scatter(segments, expand_dims(ids, 1), x, {window, {0}, {0}}, {.update = update});
}

}  // namespace

Array segment_sum(const Array& x, const Array& ids, const SegmentOptions& options, Loc loc) {
  const LocScope place(loc);
  return into_segments("segment_sum", x, ids, options, ScatterUpdate::Add, zeros({}, x.dtype()));
}

Array segment_prod(const Array& x, const Array& ids, const SegmentOptions& options, Loc loc) {
  const LocScope place(loc);
  return into_segments("segment_prod", x, ids, options, ScatterUpdate::Multiply, ones({}, x.dtype()));
}

Array segment_max(const Array& x, const Array& ids, const SegmentOptions& options, Loc loc) {
  const LocScope place(loc);
  return into_segments("segment_max", x, ids, options, ScatterUpdate::Max, least(x.dtype()));
}

Array segment_min(const Array& x, const Array& ids, const SegmentOptions& options, Loc loc) {
  const LocScope place(loc);
  return into_segments("segment_min", x, ids, options, ScatterUpdate::Min, greatest(x.dtype()));
}

}  // namespace apsis
