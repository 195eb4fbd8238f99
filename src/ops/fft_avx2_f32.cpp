#include "ops/fft_code.hpp"

namespace apsis::detail {

template <>
const FftCodes<float>& avx2_fft_codes() {
  static constexpr FftCodes<float> codes = fft_code::codes_of<float, 32>();
  return codes;
}

}  // namespace apsis::detail
