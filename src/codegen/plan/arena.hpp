#pragma once

#include <cstdint>
#include <vector>

namespace apsis::detail {

/// Plans one block of scratch memory while the code is written: ranges are taken when a value is made and
/// given back after its last use, so that two values share bytes when they are never alive together.
class Arena {
 public:
  static constexpr std::int64_t alignment = 64;

  /// The offset of a free range: the tightest that fits, else new bytes at the top.
  std::int64_t allocate(std::int64_t bytes);
  /// Bytes that no value had before, and none gets later: they may be written earlier in the program than
  /// where this is called.
  std::int64_t allocate_fresh(std::int64_t bytes);
  void release(std::int64_t offset, std::int64_t bytes);
  /// Bytes that the whole program needs.
  std::int64_t peak() const { return peak_; }

 private:
  struct Range {
    std::int64_t begin, end;
  };
  std::vector<Range> free_;  // ordered, disjoint, not touching, all below top_
  std::int64_t top_ = 0, peak_ = 0;
};

}  // namespace apsis::detail
