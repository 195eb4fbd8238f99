#pragma once

#include <cstdint>

#include "apsis/core/dtype.hpp"
#include "base/processor.hpp"

namespace apsis::detail {

/// A matrix somewhere in memory; strides in elements.
struct MatrixOperand {
  const void* data;
  std::int64_t row_stride, column_stride;
};

/// The terms of the parts whose sums are added up in their order to those of k terms.
std::int64_t product_part(std::int64_t k);

/// c = a·b for m × k and k × n matrices of floats or integers, the rows of c `row` elements apart: n, unless
/// there are several rows and columns. Integers wrap. Of
/// floats the order of sums depends on k alone: blocks of 256 terms, each a chain of multiply-adds from 0,
/// added up in groups as those of sums (ops/sum_order.hpp). So the bits are the same on all processors, and
/// for all m, n and strides. Half floats are added up in f32 and rounded once.
void matrix_product(Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k, const MatrixOperand& a,
                    const MatrixOperand& b, void* c, std::int64_t row, bool wide_registers = has_avx512());

}  // namespace apsis::detail
