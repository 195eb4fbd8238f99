#include "ops/fft_code.hpp"

namespace apsis::detail {

template <>
const FftCodes<double>& avx2_fft_codes() {
  static constexpr FftCodes<double> codes = fft_code::codes_of<double, 32>();
  return codes;
}

}  // namespace apsis::detail
