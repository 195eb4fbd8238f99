#pragma once

#include <vector>

#include "ir/view.hpp"

namespace apsis::detail {

/// A copy of a box of elements from one strided place to another, planned once and run from any two origins.
class StridedCopy {
 public:
  /// Strides are in elements.
  StridedCopy(const Shape& shape, const Dims& in_strides, const Dims& out_strides, std::size_t item_bytes);
  void run(const void* in, std::int64_t in_offset, void* out, std::int64_t out_offset) const;

 private:
  struct Axis {
    std::int64_t size, in, out;  // strides in bytes
  };
  template <std::size_t bytes>
  void walk(const char* in, char* out) const;

  std::vector<Axis> axes_;  // outermost first, merged where one stride walks two
  std::size_t bytes_;
  bool empty_;
};

/// Copies the elements seen through `view` to `out`, in row-major order.
void copy_view(const View& view, const void* in, void* out, std::size_t item_bytes);
/// Writes `count` copies of one element.
void fill_elements(void* out, const void* element, std::int64_t count, std::size_t item_bytes);

}  // namespace apsis::detail
