// What the files of distributions share.
#pragma once

#include <string>

#include "apsis/ops/convert.hpp"
#include "apsis/ops/shape.hpp"
#include "array/messages.hpp"
#include "array/support.hpp"

namespace apsis::random::detail {
using namespace apsis::detail::arrays;

/// The shape asked for, or that of the parameters.
inline Shape shape_for(const char* where, const Shape& asked, std::initializer_list<Array> parameters) {
  std::vector<Shape> shapes;
  for (const Array& p : parameters) shapes.push_back(p.shape());
  const Shape common = common_shape(where, shapes);
  return asked.empty() ? common : asked;
}

inline Array parameter(const Array& x, const Shape& shape, Dtype dtype) {
  return broadcast_to(astype(x, dtype), shape);
}

inline void check_floating(const char* where, Dtype dtype) {
  if (!is_floating(dtype))
    fail(messages::array_dtype, {where, "floating dtypes", std::string(name_of(dtype))});
}

}  // namespace apsis::random::detail
