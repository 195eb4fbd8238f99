#pragma once

// Fourier transforms of arrays in memory. A line's elements have the same bits whichever other lines there
// are.

#include <cstdint>

#include "ops/fft_params.hpp"

namespace apsis::detail {

/// All lines along the middle one of three axes: outer, the transform's, inner. T is float or double; complex
/// numbers are two of them. A transform of complex numbers may be written over what it reads.
template <class T>
void fft_lines(const FftParams& params, std::int64_t outer, std::int64_t inner, const T* from, T* to);

}  // namespace apsis::detail
