#pragma once

// Fourier transforms along one axis, of any length. Integers become floating; bf16 and f16 are computed in
// f32. A factor of the length that is 13 or less costs a pass over the elements; with other prime factors the
// transform is a convolution of two to three times the length. Derivatives of every order are there, in JAX's
// convention for complex numbers. Throws where the axis is not there and where a length is less than 1.
//
//   Array spectrum = fft::rfft(signal);                      // f64[n] -> c128[n / 2 + 1]
//   Array again = fft::irfft(spectrum, {.n = signal.dim(0)});
//
// Transforms along several axes, frequencies and shifts are in apsis/array/fft.hpp.

#include <optional>

#include "apsis/core/array.hpp"

/// Discrete Fourier transforms, with the names of numpy.fft.
namespace apsis::fft {

/// Which of the two directions has the factor 1/n.
enum class Norm {
  Backward,  ///< the inverse
  Ortho,     ///< both have 1/√n
  Forward    ///< the forward one
};

/// Options of transforms along one axis.
struct FFTOptions {
  std::optional<std::int64_t> n = {};  ///< the length; the axis is cut off or zeros are added at its end
  std::int64_t axis = -1;
  Norm norm = Norm::Backward;
};

/// y_k = Σ_j exp(-2πi j k / n) a_j: c64 or c128, n entries.
Array fft(const Array& a, const FFTOptions& options = {}, Loc loc = Loc::here());
/// y_j = 1/n Σ_k exp(2πi j k / n) a_k: the inverse of `fft`.
Array ifft(const Array& a, const FFTOptions& options = {}, Loc loc = Loc::here());
/// The entries 0 … n / 2 of `fft` of a real array, which tell the others. Throws for complex.
Array rfft(const Array& a, const FFTOptions& options = {}, Loc loc = Loc::here());
/// The inverse of `rfft`: n real entries, 2 (m - 1) of m without option, so an odd n has to be given. The
/// imaginary parts of entries 0 and n / 2 (n even) do not count.
Array irfft(const Array& a, const FFTOptions& options = {}, Loc loc = Loc::here());
/// The transform, real, of a signal whose entry -j is the conjugate of entry j, of which the entries 0 … n /
/// 2 are given; n is 2 (m - 1) without option.
Array hfft(const Array& a, const FFTOptions& options = {}, Loc loc = Loc::here());
/// The inverse of `hfft`: the entries 0 … n / 2. Throws for complex.
Array ihfft(const Array& a, const FFTOptions& options = {}, Loc loc = Loc::here());

}  // namespace apsis::fft
