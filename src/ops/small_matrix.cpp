#include "base/processor.hpp"
#include "ops/small_matrix_kernel.hpp"

namespace apsis::detail {
namespace {

template <class T>
const SmallMatrixCodes<T>& code_for(std::int64_t count) {
  static const SmallMatrixCodes<T>&narrow = narrow_small_matrix_code<T>(),
               &wide = has_avx512() ? avx512_small_matrix_code<T>() : avx2_small_matrix_code<T>();
  return count * static_cast<std::int64_t>(sizeof(T)) <= 16 ? narrow : wide;
}

}  // namespace

template <>
const SmallMatrixCodes<float>& small_matrix_code(std::int64_t count) {
  return code_for<float>(count);
}
template <>
const SmallMatrixCodes<double>& small_matrix_code(std::int64_t count) {
  return code_for<double>(count);
}

}  // namespace apsis::detail
