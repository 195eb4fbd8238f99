#pragma once

// Walks over an array's elements with some axes apart: each line is the elements along these axes (in
// row-major order among themselves) at one position of the others.

#include <vector>

#include "ir/view.hpp"

namespace apsis::detail {

struct AxisWalk {
  std::int64_t length = 1;            // elements a line
  std::vector<std::int64_t> starts;   // offset of each line, in row-major order of the other axes
  std::vector<std::int64_t> offsets;  // of a line's elements from its start; empty if they are neighbours

  AxisWalk(const Shape& shape, const Dims& axes) {
    const View all = View::contiguous(shape);
    View along, others;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      View& part = axes.contains(static_cast<std::int64_t>(i)) ? along : others;
      part.shape.push_back(shape[i]);
      part.strides.push_back(all.strides[i]);
    }
    length = along.shape.product();
    starts.resize(static_cast<std::size_t>(others.shape.product()));
    for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = others.at(static_cast<std::int64_t>(i));
    if (along.is_contiguous()) return;
    offsets.resize(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = along.at(static_cast<std::int64_t>(i));
  }

  /// The place of element i of the line that starts at `start`.
  std::int64_t at(std::int64_t start, std::int64_t i) const {
    return start + (offsets.empty() ? i : offsets[static_cast<std::size_t>(i)]);
  }
};

}  // namespace apsis::detail
