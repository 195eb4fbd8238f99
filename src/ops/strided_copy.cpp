#include "ops/strided_copy.hpp"

#include <algorithm>
#include <cstring>

namespace apsis::detail {

StridedCopy::StridedCopy(const Shape& shape, const Dims& in_strides, const Dims& out_strides,
                         std::size_t item_bytes)
    : bytes_(item_bytes), empty_(shape.product() == 0) {
  auto item = static_cast<std::int64_t>(item_bytes);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    Axis next{shape[i], in_strides[i] * item, out_strides[i] * item};
    if (!axes_.empty() && axes_.back().in == next.in * next.size && axes_.back().out == next.out * next.size)
      axes_.back() = {axes_.back().size * next.size, next.in, next.out};
    else
      axes_.push_back(next);
  }
  if (axes_.empty()) axes_.push_back({1, item, item});
}

template <std::size_t bytes>
void StridedCopy::walk(const char* in, char* out) const {
  const Axis inner = axes_.back();
  const std::size_t outer = axes_.size() - 1;
  Dims index = Dims::filled(outer, 0);
  for (;;) {
    if (inner.in == bytes && inner.out == bytes) {
      std::memcpy(out, in, static_cast<std::size_t>(inner.size) * bytes);
    } else {
      const char* from = in;
      char* to = out;
      for (std::int64_t i = 0; i < inner.size; ++i, from += inner.in, to += inner.out)
        std::memcpy(to, from, bytes);
    }
    std::size_t axis = outer;
    for (;;) {
      if (axis == 0) return;
      --axis;
      in += axes_[axis].in;
      out += axes_[axis].out;
      if (++index[axis] < axes_[axis].size) break;
      in -= axes_[axis].in * axes_[axis].size;
      out -= axes_[axis].out * axes_[axis].size;
      index[axis] = 0;
    }
  }
}

void StridedCopy::run(const void* in, std::int64_t in_offset, void* out, std::int64_t out_offset) const {
  if (empty_) return;
  auto item = static_cast<std::int64_t>(bytes_);
  auto* from = static_cast<const char*>(in) + in_offset * item;
  auto* to = static_cast<char*>(out) + out_offset * item;
  switch (bytes_) {
    case 1:
      return walk<1>(from, to);
    case 2:
      return walk<2>(from, to);
    case 4:
      return walk<4>(from, to);
    case 8:
      return walk<8>(from, to);
    default:
      return walk<16>(from, to);
  }
}

void copy_view(const View& view, const void* in, void* out, std::size_t item_bytes) {
  StridedCopy(view.shape, view.strides, View::contiguous(view.shape).strides, item_bytes)
      .run(in, view.offset, out, 0);
}

void fill_elements(void* out, const void* element, std::int64_t count, std::size_t item_bytes) {
  if (count == 0) return;
  auto* const to = static_cast<char*>(out);
  const std::size_t bytes = static_cast<std::size_t>(count) * item_bytes;
  std::memcpy(to, element, item_bytes);
  // What is written is copied on, from a beginning that stays in the cache.
  for (std::size_t done = item_bytes, more = 0; done < bytes; done += more) {
    more = std::min({done, bytes - done, std::size_t{1} << 14});
    std::memcpy(to + done, to, more);
  }
}

}  // namespace apsis::detail
