#pragma once

#include <cstdint>

#include "base/processor.hpp"

namespace apsis::detail {

/// P·A = L·U in place of the m × n matrix a, which lies row by row without gaps: what LAPACK's getrf gives,
/// but for rounding. Row j was exchanged with row pivots[j], counted from 0. T is float or double. The bits
/// are the same on all processors.
template <class T>
void large_lu(std::int64_t m, std::int64_t n, T* a, std::int32_t* pivots, bool wide_registers = has_avx512());

}  // namespace apsis::detail
