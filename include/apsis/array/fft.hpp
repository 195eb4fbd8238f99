#pragma once

// Fourier transforms along several axes: those of apsis/ops/fft.hpp, one axis after the other. Frequencies,
// and shifts of frequency zero to the middle. Throws as transforms along one axis do, and where an axis is
// named twice or there is not one size an axis.
//
//   Array spectrum = fft::rfft2(image);                          // f64[m, n] -> c128[m, n / 2 + 1]
//   Array again = fft::irfft2(spectrum, {.s = image.shape()});

#include "apsis/ops/fft.hpp"
#include "apsis/ops/reduce.hpp"

namespace apsis::fft {

/// Options of transforms along several axes.
struct FFTNOptions {
  std::optional<Dims> s = {};  ///< the lengths; axes are cut off, or zeros are added at their ends
  Axes axes = {};              ///< in the order of s; all, or as many of the last ones as s has
  Norm norm = Norm::Backward;  ///< for the product of the lengths
};
/// `fft` along each of the axes.
Array fftn(const Array& a, const FFTNOptions& options = {}, Loc loc = Loc::here());
/// `ifft` along each of the axes.
Array ifftn(const Array& a, const FFTNOptions& options = {}, Loc loc = Loc::here());
/// `rfft` along the last of the axes, then `fft` along the others. Throws for complex.
Array rfftn(const Array& a, const FFTNOptions& options = {}, Loc loc = Loc::here());
/// `ifft` along all axes but the last, then `irfft` along that: the inverse of `rfftn`.
Array irfftn(const Array& a, const FFTNOptions& options = {}, Loc loc = Loc::here());

/// Options of transforms along two axes.
struct FFT2Options {
  std::optional<Dims> s = {};  ///< the lengths
  Dims axes = {-2, -1};        ///< two
  Norm norm = Norm::Backward;
};
/// `fftn` along two axes.
Array fft2(const Array& a, const FFT2Options& options = {}, Loc loc = Loc::here());
/// `ifftn` along two axes.
Array ifft2(const Array& a, const FFT2Options& options = {}, Loc loc = Loc::here());
/// `rfftn` along two axes.
Array rfft2(const Array& a, const FFT2Options& options = {}, Loc loc = Loc::here());
/// `irfftn` along two axes.
Array irfft2(const Array& a, const FFT2Options& options = {}, Loc loc = Loc::here());

/// The frequencies of the entries of `fft` of n points that are d apart: 0, 1, … and then the negative ones,
/// over n·d. f64 unless d has a dtype. Throws where n is less than 1 or d is not a scalar.
Array fftfreq(std::int64_t n, const Array& d = 1.0, Loc loc = Loc::here());
/// Those of `rfft`: 0, 1, … n / 2, over n·d.
Array rfftfreq(std::int64_t n, const Array& d = 1.0, Loc loc = Loc::here());

/// Moves frequency zero from entry 0 to entry n / 2 of each of the axes.
Array fftshift(const Array& x, const Axes& axes = {}, Loc loc = Loc::here());
/// The inverse of `fftshift`.
Array ifftshift(const Array& x, const Axes& axes = {}, Loc loc = Loc::here());

}  // namespace apsis::fft
