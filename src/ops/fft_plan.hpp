#pragma once

// What a transform of one length needs and every call of it shares: the radices of its passes and the turns
// (powers of exp(-2πi / n), rounded once).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/fft_passes.hpp"

namespace apsis::detail {

template <class T>
struct FftPlan {
  /// One pass: see FftPass. `radix` is an index of fft_radices, `turns` lie in `table`.
  struct Pass {
    std::size_t radix;
    std::int64_t blocks, groups, span;  ///< groups of all blocks
    FftTurns<T> turns;
  };

  std::int64_t length;
  std::vector<Pass> passes;
  std::vector<T> table;
  /// Of a long line, which is transformed in two halves: how many of the passes are the first one. Or 0.
  std::size_t first_half = 0;
  /// Lengths with a prime factor that there is no pass for are convolutions of a longer length, whose plan
  /// this is (L. Bluestein, A linear filtering approach to the computation of discrete Fourier transform,
  /// 1970). The table then has, as planes, exp(-πi k² / n) for each k, and the transform of its conjugate
  /// over the other length.
  std::shared_ptr<const FftPlan> convolution;

  /// The elements that a transform works on.
  std::int64_t work_length() const { return convolution ? convolution->length : length; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(table.size() * sizeof(T)); }
};

/// The plan of complex transforms of this length. Plans are kept, bounded by their size.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(std::int64_t length);

/// exp(-2πi k / n) for k = 0 … n / 2, as planes: what makes a real transform of even length n of a complex
/// one of n / 2. Kept as plans are.
template <class T>
std::shared_ptr<const std::vector<T>> fft_half_turns(std::int64_t length);

}  // namespace apsis::detail
