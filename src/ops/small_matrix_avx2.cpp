#include "ops/small_matrix_code.hpp"

namespace apsis::detail {

template <>
const SmallMatrixCode<float>& narrow_small_matrix_code() {
  static constexpr SmallMatrixCode<float> code = small_code::code_of<float, 16>();
  return code;
}
template <>
const SmallMatrixCode<double>& narrow_small_matrix_code() {
  static constexpr SmallMatrixCode<double> code = small_code::code_of<double, 16>();
  return code;
}
template <>
const SmallMatrixCode<float>& avx2_small_matrix_code() {
  static constexpr SmallMatrixCode<float> code = small_code::code_of<float, 32>();
  return code;
}
template <>
const SmallMatrixCode<double>& avx2_small_matrix_code() {
  static constexpr SmallMatrixCode<double> code = small_code::code_of<double, 32>();
  return code;
}

}  // namespace apsis::detail
