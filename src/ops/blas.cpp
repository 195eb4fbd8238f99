#include "ops/blas.hpp"

#include <cblas.h>

#include "apsis/base/error.hpp"
#include "ops/openblas_call.hpp"

namespace apsis::detail {

void blas_multiply(Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k, const void* a, const void* b,
                   void* c) {
  const auto rows = static_cast<blasint>(m), columns = static_cast<blasint>(n),
             inner = static_cast<blasint>(k);
  const OpenblasCall alone;
  const complex64 one64{1, 0}, zero64{0, 0};
  const complex128 one128{1, 0}, zero128{0, 0};
  switch (dtype) {
    case Dtype::C64:
      return APSIS_OPENBLAS(cblas_cgemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner,
                                         &one64, a, inner, b, columns, &zero64, c, columns);
    case Dtype::C128:
      return APSIS_OPENBLAS(cblas_zgemm)(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner,
                                         &one128, a, inner, b, columns, &zero128, c, columns);
    default:
      APSIS_ASSERT(!"complex");
  }
}

}  // namespace apsis::detail
