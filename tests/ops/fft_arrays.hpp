#pragma once

// Arrays of complex numbers for the tests of transforms.

#include <complex>
#include <vector>

#include "ops/fft_params.hpp"
#include "ops/records.hpp"

namespace apsis::testing {

using Numbers = std::vector<std::complex<long double>>;

/// Of c128 or c64; of f64 or f32: the real parts.
inline Array complex_array(Dtype dtype, const Shape& shape, const Numbers& numbers) {
  Array out = allocate(Aval(dtype, shape));
  const bool wide = dtype == Dtype::C128 || dtype == Dtype::F64;
  const std::size_t parts = is_complex(dtype) ? 2 : 1;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::size_t part = 0; part < parts; ++part) {
      const long double x = part == 0 ? numbers[i].real() : numbers[i].imag();
      if (wide)
        mutable_data<double>(out)[parts * i + part] = static_cast<double>(x);
      else
        mutable_data<float>(out)[parts * i + part] = static_cast<float>(x);
    }
  return out;
}

inline Numbers numbers_of(const Array& a) {
  Numbers out(static_cast<std::size_t>(a.size()));
  const bool wide = a.dtype() == Dtype::C128 || a.dtype() == Dtype::F64;
  const std::size_t parts = is_complex(a.dtype()) ? 2 : 1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    long double x[2] = {0, 0};
    for (std::size_t part = 0; part < parts; ++part)
      x[part] = wide ? static_cast<const double*>(data_of(a))[parts * i + part]
                     : static_cast<const float*>(data_of(a))[parts * i + part];
    out[i] = {x[0], x[1]};
  }
  return out;
}

inline Array random_complex(Random& random, Dtype dtype, const Shape& shape) {
  Numbers numbers(static_cast<std::size_t>(shape.product()));
  for (auto& z : numbers) {
    const double re = random.uniform(-1, 1), im = random.uniform(-1, 1);
    z = {re, im};
  }
  return complex_array(dtype, shape, numbers);
}

/// Half the spectrum, along one axis, where that is what an operand is.
inline std::int64_t operand_entries(const detail::FftParams& p) {
  return p.kind == detail::FftKind::ComplexToReal ? p.length / 2 + 1 : p.length;
}
inline Dtype operand_dtype(const detail::FftParams& p, bool wide) {
  if (p.kind == detail::FftKind::RealToComplex || p.kind == detail::FftKind::RealToWhole)
    return wide ? Dtype::F64 : Dtype::F32;
  return wide ? Dtype::C128 : Dtype::C64;
}
inline constexpr detail::FftKind all_kinds[] = {detail::FftKind::Complex, detail::FftKind::RealToComplex,
                                                detail::FftKind::ComplexToReal, detail::FftKind::RealToWhole};
/// Of all kinds and directions.
inline std::vector<detail::FftParams> all_transforms(std::int64_t length, int axis = 0) {
  std::vector<detail::FftParams> out;
  for (const auto kind : all_kinds)
    for (bool inverse : {false, true})
      for (bool doubled : {false, true})
        if (!doubled || kind == detail::FftKind::RealToComplex || kind == detail::FftKind::ComplexToReal)
          out.push_back(
              {kind, inverse, doubled, axis, length, inverse ? 1 / static_cast<double>(length) : 1});
  return out;
}

}  // namespace apsis::testing
