// Built for processors that have AVX-512, and called on no other.

#include "ops/fft_code.hpp"

namespace apsis::detail {

template <>
const FftCodes<double>& avx512_fft_codes() {
  static constexpr FftCodes<double> codes = fft_code::codes_of<double, 64>();
  return codes;
}

}  // namespace apsis::detail
