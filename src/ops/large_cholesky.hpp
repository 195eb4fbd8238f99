#pragma once

#include <cstdint>

#include "base/processor.hpp"

namespace apsis::detail {

/// A = L·Lᵀ in place, in the lower triangle of an n × n matrix that lies row by row; what is above it is
/// overwritten. False where A is not positive definite. Any registers give the same bits.
template <class T>
bool large_cholesky(std::int64_t n, T* a, bool wide_registers = has_avx512());

}  // namespace apsis::detail
