// Golden fields as arrays.
#pragma once

#include "apsis/core/array.hpp"
#include "golden/golden.hpp"
#include "ops/lax.hpp"

namespace apsis::golden {

inline Dtype dtype_named(const std::string& name) {
  for (int d = 0; d < dtype_count; ++d)
    if (name_of(static_cast<Dtype>(d)) == name) return static_cast<Dtype>(d);
  throw std::runtime_error("no dtype " + name);
}

inline Array array_of(const Field& f) {
  Shape shape(f.shape.data(), f.shape.size());
  if (f.is_complex()) {
    std::vector<complex128> values;
    for (std::size_t i = 0; i < f.real.size(); ++i) values.push_back({f.real[i], f.imag[i]});
    return detail::lax::convert(array(values, shape), dtype_named(f.dtype));
  }
  Array values = f.is_integer() ? array(f.integers, shape) : array(f.real, shape);
  return detail::lax::convert(values, dtype_named(f.dtype));
}

}  // namespace apsis::golden
