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

/// Throws where the number of the first member of an ensemble is no scalar integer.
inline void check_first(const char* where, const Array& first) {
  if (first.is_empty() || first.ndim() != 0 || !is_integer(first.dtype()))
    fail(messages::member_number, {where, first.is_empty() ? "empty" : to_string(first.aval())});
}
/// Numbers of (0, 1), never an end of it, of the leading bits of two u32 words: as many as the dtype holds
/// exactly beside a half.
Array open_uniform(const Array& high, const Array& low, Dtype dtype);

}  // namespace apsis::random::detail
