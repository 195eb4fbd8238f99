// Built for processors that have AVX-512, and called on no other.

#include "ops/small_matrix_code.hpp"

namespace apsis::detail {

template <>
const SmallMatrixCode<float>& avx512_small_matrix_code() {
  static constexpr SmallMatrixCode<float> code = small_code::code_of<float, 64>();
  return code;
}
template <>
const SmallMatrixCode<double>& avx512_small_matrix_code() {
  static constexpr SmallMatrixCode<double> code = small_code::code_of<double, 64>();
  return code;
}

}  // namespace apsis::detail
