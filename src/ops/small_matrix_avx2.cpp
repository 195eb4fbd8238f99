#include "ops/small_matrix_code.hpp"

namespace apsis::detail {

template <>
const SmallMatrixCodes<float>& narrow_small_matrix_code() {
  static constexpr SmallMatrixCodes<float> code = small_code::codes_of<float, 16>();
  return code;
}
template <>
const SmallMatrixCodes<double>& narrow_small_matrix_code() {
  static constexpr SmallMatrixCodes<double> code = small_code::codes_of<double, 16>();
  return code;
}
template <>
const SmallMatrixCodes<float>& avx2_small_matrix_code() {
  static constexpr SmallMatrixCodes<float> code = small_code::codes_of<float, 32>();
  return code;
}
template <>
const SmallMatrixCodes<double>& avx2_small_matrix_code() {
  static constexpr SmallMatrixCodes<double> code = small_code::codes_of<double, 32>();
  return code;
}

}  // namespace apsis::detail
