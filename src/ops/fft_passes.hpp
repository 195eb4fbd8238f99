#pragma once

// One pass of a transform: Stockham's algorithm, decimation in time (C. Van Loan, Computational Frameworks
// for the Fast Fourier Transform, 1992, section 1.7). The operations that make an element are the same in
// vectors of any length and alone, so that the bits do not depend on where in a batch a line is, nor on the
// processor.

#include <array>
#include <cstdint>

namespace apsis::detail {

/// Real and imaginary parts, apart.
template <class T>
struct Planes {
  T *re, *im;
  Planes swapped() const { return {im, re}; }
};

/// How many elements lie between neighbours in each of the ways that a pass goes.
struct FftSteps {
  std::int64_t block, group, element;
};

/// Lines side by side in planes: as many as fill the widest register.
template <class T>
inline constexpr std::int64_t fft_columns = 64 / static_cast<std::int64_t>(sizeof(T));

/// The turns of a pass, which are read in the order of memory where they can be.
template <class T>
struct FftTurns {
  const T* data;
  /// How many numbers lie between parts (the real part for k = 1, its imaginary part, the real part for k = 2
  /// …), between groups of a block, between packets of `fft_columns` of them, and between blocks.
  std::int64_t part, group, packet, block;
  const T* at(std::int64_t b, std::int64_t p) const {
    return data + b * block + p / fft_columns<T> * packet + p % fft_columns<T> * group;
  }
};

/// For group p of block b: element t of to(b, p, j) becomes Σ_k w^(j k) · turn(b, first_group + p, k) ·
/// (element t of from(b, p, k)), with w = exp(-2πi / radix). A whole pass has all groups, one after the
/// other: from(p, k) = span · (k + radix · p), to(p, j) = span · (p + groups · j).
template <class T>
struct FftPass {
  Planes<const T> from;
  Planes<T> to;
  std::int64_t blocks, groups, span;
  FftSteps from_steps, to_steps;
  FftTurns<T> turns;
  std::int64_t first_group = 0;
  // Where one end is an array of complex numbers, in place of `from` or `to`.
  const T* from_complex = nullptr;
  T* to_complex = nullptr;
  std::int64_t ahead = 0;  ///< elements after those that are read: what is read soon
  bool swapped = false;    ///< imaginary parts come first in it
  T scale = 1;             ///< of what goes to it
  bool streams = false;  ///< past the cache: `to_complex` begins at a line of it, and registers never overlap
};

/// Lines one after the other by the two passes of a short length. They are complex numbers, or at one end
/// planes: `from` or `to` has the real parts then.
template <class T>
struct FftLines {
  const T* from;
  T* to;
  std::int64_t count;
  FftTurns<T> turns;  ///< of the second pass
  T scale;            ///< of the results
  const T* from_imaginary = nullptr;
  T* to_imaginary = nullptr;
};

/// The half spectrum of a real line, complex numbers 0 … pairs, and the transform z of pairs of its elements.
template <class T>
struct FftHalf {
  Planes<T> z;
  const T* from;          ///< the half spectrum that is read
  T* to;                  ///< that is written
  Planes<T> planes = {};  ///< of `fft_columns` lines side by side: in place of either
  std::int64_t pairs;
  const T *turns_re, *turns_im;  ///< w^k
  T factor, imaginary_factor;    ///< of the half spectrum's parts
};

/// The widths that a pass is there in: whole registers, half of that, one number.
inline constexpr std::size_t fft_widths = 3;
/// The code of one radix. Null where a width is missing; single numbers are never missing.
template <class T>
struct FftCode {
  using Run = void (*)(const FftPass<T>&);
  using Widths = std::array<Run, fft_widths>;
  Widths first;               ///< no turns; span is a register or more
  Widths first_from_complex;  ///< the same
  Widths middle;              ///< span is a register or more
  Widths middle_to_complex;   ///< the same; null where the radix is large
  Widths last;                ///< span is 1; groups, which lie side by side, are a register or more
  Widths last_to_complex;     ///< the same
};
inline constexpr std::array<int, 12> fft_radices = {2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 23};
/// The code of lengths whose two passes have these radices.
template <class T>
struct FftTwoPasses {
  int first, second;
  int lines;  ///< that it takes at a time: it is called for a multiple of them
  using Run = void (*)(const FftLines<T>&);
  Run run[2][2];  ///< whether imaginary parts come first; whether past the cache
  Run to_planes;
  Run from_planes;  ///< imaginary parts come first in what is written
};
template <class T>
struct FftCodes {
  std::array<std::int64_t, fft_widths> lanes;
  std::array<FftCode<T>, fft_radices.size()> of_radix;
  std::array<FftTwoPasses<T>, 4> two_passes;
  // The elements of one line, or of lines side by side, but for the first and the last:
  void (*store_half)(const FftHalf<T>&);  ///< from z
  void (*load_half)(const FftHalf<T>&);   ///< to z, as the inverse transform takes it
  void (*store_half_columns)(const FftHalf<T>&);
  void (*load_half_columns)(const FftHalf<T>&);
};
/// For registers of 32 bytes, and for those of 64 that only some processors have.
template <class T>
const FftCodes<T>& avx2_fft_codes();
template <class T>
const FftCodes<T>& avx512_fft_codes();
template <>
const FftCodes<float>& avx2_fft_codes();
template <>
const FftCodes<double>& avx2_fft_codes();
template <>
const FftCodes<float>& avx512_fft_codes();
template <>
const FftCodes<double>& avx512_fft_codes();

}  // namespace apsis::detail
