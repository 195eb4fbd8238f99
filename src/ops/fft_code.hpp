#pragma once

// All code of Fourier transforms for registers of one size. Included where they are built for.

#include "ops/fft_half_code.hpp"
#include "ops/fft_two_pass_code.hpp"

namespace apsis::detail::fft_code {

/// The lengths 32, 64, 128 and 256 with the radices that `fft_plan.cpp` gives them.
template <class T, int lanes>
constexpr std::array<FftTwoPasses<T>, 4> short_codes() {
  constexpr bool narrow = sizeof(T) == 4;
  return {two_passes_of<T, 4, 8, lanes>(),
          two_passes_of<T, 8, 8, lanes>(),
          two_passes_of < T,
          narrow ? 8 : 16,
          narrow ? 16 : 8,
          lanes > (),
          two_passes_of<T, 16, 16, lanes>()};
}

template <class T, int register_bytes>
constexpr FftCodes<T> codes_of() {
  constexpr int lanes = register_bytes / static_cast<int>(sizeof(T));
  FftCodes<T> codes{{lanes, lanes / 2, 1},
                    {},
                    short_codes<T, lanes>(),
                    store_half<T, lanes>,
                    load_half<T, lanes>,
                    each_column<T, lanes, HalfSpectrum<T, lanes>::store_columns>,
                    each_column<T, lanes, HalfSpectrum<T, lanes>::load_columns>};
  const auto add = [&]<std::size_t... i>(std::index_sequence<i...>) {
    const auto one = [&]<std::size_t index>(std::integral_constant<std::size_t, index>) {
      constexpr int radix = fft_radices[index];
      add_width<T, radix, lanes>(codes.of_radix[index], 0);
      if constexpr (lanes > 4) add_width<T, radix, lanes / 2>(codes.of_radix[index], 1);
      add_width<T, radix, 1>(codes.of_radix[index], 2);
    };
    (one(std::integral_constant<std::size_t, i>()), ...);
  };
  add(std::make_index_sequence<fft_radices.size()>());
  return codes;
}

}  // namespace apsis::detail::fft_code
