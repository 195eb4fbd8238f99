#include "codegen/plan/arena.hpp"

#include <algorithm>

namespace apsis::detail {
namespace {
std::int64_t padded(std::int64_t bytes) {
  return (std::max<std::int64_t>(bytes, 1) + Arena::alignment - 1) / Arena::alignment * Arena::alignment;
}
}  // namespace

std::int64_t Arena::allocate(std::int64_t bytes) {
  bytes = padded(bytes);
  auto best = free_.end();
  for (auto r = free_.begin(); r != free_.end(); ++r)
    if (r->end - r->begin >= bytes && (best == free_.end() || r->end - r->begin < best->end - best->begin))
      best = r;
  if (best == free_.end()) {
    std::int64_t offset = top_;
    top_ += bytes;
    peak_ = std::max(peak_, top_);
    return offset;
  }
  std::int64_t offset = best->begin;
  best->begin += bytes;
  if (best->begin == best->end) free_.erase(best);
  return offset;
}

std::int64_t Arena::allocate_fresh(std::int64_t bytes) {
  if (top_ < peak_) free_.push_back({top_, peak_});
  const std::int64_t offset = peak_;
  peak_ = top_ = offset + padded(bytes);
  return offset;
}

void Arena::release(std::int64_t offset, std::int64_t bytes) {
  Range range{offset, offset + padded(bytes)};
  auto next = std::lower_bound(free_.begin(), free_.end(), range,
                               [](const Range& a, const Range& b) { return a.begin < b.begin; });
  if (next != free_.end() && next->begin == range.end) {
    range.end = next->end;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->end == range.begin) {
    --next;
    range.begin = next->begin;
    next = free_.erase(next);
  }
  if (range.end == top_)
    top_ = range.begin;
  else
    free_.insert(next, range);
}

}  // namespace apsis::detail
