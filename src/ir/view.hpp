#pragma once

#include "apsis/core/shape.hpp"

namespace apsis::detail {

/// Strided access to a buffer, in elements: element (i, j, …) is at offset + i·strides[0] + j·strides[1] + ….
struct View {
  Shape shape;
  Dims strides;
  std::int64_t offset = 0;

  static View contiguous(const Shape& shape) {
    View v{shape, Dims::filled(shape.size(), 0), 0};
    std::int64_t step = 1;
    for (std::size_t i = shape.size(); i-- > 0; step *= shape[i]) v.strides[i] = step;
    return v;
  }
  bool is_contiguous() const {
    std::int64_t step = 1;
    for (std::size_t i = shape.size(); i-- > 0; step *= shape[i])
      if (shape[i] != 1 && strides[i] != step) return shape.product() == 0;
    return true;
  }
  /// The place of the element with row-major number `linear`.
  std::int64_t at(std::int64_t linear) const {
    std::int64_t place = offset;
    for (std::size_t i = shape.size(); i-- > 0;) {
      place += linear % shape[i] * strides[i];
      linear /= shape[i];
    }
    return place;
  }
};

}  // namespace apsis::detail
