#include "apsis/array/segment.hpp"

#include <algorithm>

#include "apsis/ops/arithmetic.hpp"
#include "apsis/ops/comparison.hpp"
#include "apsis/ops/convert.hpp"
#include "apsis/ops/creation.hpp"
#include "apsis/ops/index.hpp"
#include "apsis/ops/select.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis {
using namespace detail::arrays;
namespace {

/// Where each entry goes: out of bounds is past the end.
struct Segments {
  Array ids;
  Shape shape;
};

Segments segments_of(const char* where, const Array& x, const Array& ids, const SegmentOptions& options) {
  check_rank(where, x.ndim() >= 1, "an axis or more", x);
  check_dtype(where, is_integer(ids.dtype()), "integers as segments", ids);
  if (ids.ndim() != 1 || ids.size() != x.dim(0))
    fail(messages::array_sizes,
         {where, to_string(x.aval()), "segments " + to_string(ids.aval()), "give one an entry of axis 0"});
  std::int64_t n = options.segments;
  const Array wide = astype(ids, i64);
  if (n < 0) {
    const Array greatest = concrete_value(ids.size() > 0 ? max(wide) : Array(-1));
    if (greatest.is_empty()) fail(messages::array_traced, {where, "{.segments = n}"});
    n = std::max<std::int64_t>(greatest.item<std::int64_t>() + 1, 0);
  }
  return {apsis::where(wide < 0, n, wide), with_size_at(x.shape(), 0, n)};
}

}  // namespace

Array segment_sum(const Array& x, const Array& ids, const SegmentOptions& options, Loc loc) {
  const LocScope place(loc);
  const Segments s = segments_of("segment_sum", x, ids, options);
  return zeros(s.shape, x.dtype()).at(s.ids).add(x);
}

Array segment_prod(const Array& x, const Array& ids, const SegmentOptions& options, Loc loc) {
  const LocScope place(loc);
  const Segments s = segments_of("segment_prod", x, ids, options);
  return ones(s.shape, x.dtype()).at(s.ids).multiply(x);
}

Array segment_max(const Array& x, const Array& ids, const SegmentOptions& options, Loc loc) {
  const LocScope place(loc);
  const Segments s = segments_of("segment_max", x, ids, options);
  return full(s.shape, least(x.dtype())).at(s.ids).max(x);
}

Array segment_min(const Array& x, const Array& ids, const SegmentOptions& options, Loc loc) {
  const LocScope place(loc);
  const Segments s = segments_of("segment_min", x, ids, options);
  return full(s.shape, greatest(x.dtype())).at(s.ids).min(x);
}

}  // namespace apsis
