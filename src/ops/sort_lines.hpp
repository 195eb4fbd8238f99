#pragma once

// Stable sorting by bits: elements become words whose unsigned order is that of the elements, and words are
// sorted digit by digit from the least one (Knuth, The Art of Computer Programming 3, 1998, 5.2.5).

#include <cstdint>
#include <cstring>
#include <vector>

#include "apsis/core/dtype.hpp"

namespace apsis::detail {

/// Elements of one line of an array.
struct SortKey {
  const void* first;
  std::int64_t stride;  // in elements
  Dtype dtype;
};

/// Which element of a line comes first, second, …: sorted by the first key, equal ones by the next, stably.
/// NaN is after all numbers and equal to itself, -0 equals 0; complex numbers go by the real, then by the
/// imaginary part. `Number` is wide enough for the numbers of elements: a third of the memory is theirs.
template <class Number>
class LineSorter {
 public:
  void sort(const std::vector<SortKey>& keys, std::int64_t count);
  std::int64_t operator[](std::int64_t place) const {
    Number number;
    std::memcpy(&number, numbers_ + place * step_, sizeof(Number));
    return static_cast<std::int64_t>(number);
  }

 private:
  void sort_by(const SortKey& key, std::int64_t count);

  std::vector<std::uint64_t> memory_;  // of words with their numbers
  const char* numbers_ = nullptr;      // in the order of what was sorted by so far; null: as they are
  std::ptrdiff_t step_ = 0;            // in bytes
  std::vector<Number> order_;          // the same, while the next key is sorted by
};

/// Sorts a line by itself, to elements `stride` apart from `to`. False, and nothing is done, where equal
/// elements may differ in their bits (zeros of both signs, NaNs), or are complex: their order is to be found
/// first.
bool sort_values(const SortKey& line, std::int64_t count, void* to);

}  // namespace apsis::detail
