// What running statistics share: observations and their shapes.
#pragma once

#include <limits>

#include "apsis/ops/convert.hpp"
#include "stats/messages.hpp"

namespace apsis::stats::running {

inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

inline void check_floating(const char* where, Dtype dtype) {
  if (!is_floating(dtype)) fail(messages::running_dtype, {where, std::string(name_of(dtype))});
}
/// One observation, of the statistics' shape and dtype.
inline Array observation(const char* where, const Array& x, const Array& like) {
  if (x.is_empty() || x.shape() != like.shape() || is_complex(x.dtype()))
    fail(messages::running_shape,
         {where, x.is_empty() ? "empty" : to_string(x.aval()), to_string(like.shape())});
  return astype(x, like.dtype());
}
/// Rows of them.
inline Array observations(const char* where, const Array& xs, const Array& like) {
  bool fits = !xs.is_empty() && xs.ndim() == like.ndim() + 1 && !is_complex(xs.dtype());
  for (int i = 0; fits && i < like.ndim(); ++i) fits = xs.dim(i + 1) == like.dim(i);
  if (!fits)
    fail(messages::running_rows,
         {where, xs.is_empty() ? "empty" : to_string(xs.aval()), to_string(like.shape())});
  return astype(xs, like.dtype());
}

}  // namespace apsis::stats::running
