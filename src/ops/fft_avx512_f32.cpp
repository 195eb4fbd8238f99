// Built for processors that have AVX-512, and called on no other.

#include "ops/fft_code.hpp"

namespace apsis::detail {

template <>
const FftCodes<float>& avx512_fft_codes() {
  static constexpr FftCodes<float> codes = fft_code::codes_of<float, 64>();
  return codes;
}

}  // namespace apsis::detail
