// What layers share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apsis/core/array.hpp"

namespace apsis::nn {

/// Throws unless x has this shape; -1 stands for any size.
void check_input(const char* layer, const Array& x, const Shape& shape);
/// Throws if a number is less than `least`.
void check_size(const char* where, const char* what, std::int64_t value, std::int64_t least = 1);
/// Throws unless `divisor` divides `value`.
void check_divides(const char* where, const char* what, std::int64_t value, const char* divisor_name,
                   std::int64_t divisor);
/// Uniform in ±bound: how layers begin.
Array uniform_within(double bound, const Array& key, const Shape& shape, Dtype dtype);

inline std::vector<std::int64_t> listed(const Dims& dims) { return {dims.begin(), dims.end()}; }
inline Dims as_dims(const std::vector<std::int64_t>& list) {
  return Dims(std::span<const std::int64_t>(list));
}

}  // namespace apsis::nn
