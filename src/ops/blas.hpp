#pragma once

#include <cstdint>

#include "apsis/core/dtype.hpp"

namespace apsis::detail {

/// c = a·b for row-major contiguous m × k and k × n matrices of c64 or c128, by OpenBLAS (serial build).
void blas_multiply(Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k, const void* a, const void* b,
                   void* c);

}  // namespace apsis::detail
