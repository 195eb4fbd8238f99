// Built for processors that have AVX-512, and called on no other.

#include "ops/small_matrix_code.hpp"

namespace apsis::detail {

template <>
const SmallMatrixCodes<float>& avx512_small_matrix_code() {
  static constexpr SmallMatrixCodes<float> code = small_code::codes_of<float, 64>();
  return code;
}
template <>
const SmallMatrixCodes<double>& avx512_small_matrix_code() {
  static constexpr SmallMatrixCodes<double> code = small_code::codes_of<double, 64>();
  return code;
}

}  // namespace apsis::detail
