#pragma once

// Ops on small matrices, evaluated where some of their operands and results are packed
// (`small_matrix_kernel.hpp`): compiled code passes on so what one of them leaves for others alone.

#include "apsis/core/op.hpp"

namespace apsis::detail {

/// Whether arrays of this dtype may be packed: half floats are computed in f32.
constexpr bool may_be_packed(Dtype dtype) {
  return dtype == Dtype::F32 || dtype == Dtype::F64 || dtype == Dtype::I32;
}
/// More matrices than a packet has.
inline constexpr std::int64_t most_in_packet = 16;

/// Whether the op makes factors of its one matrix; others solve by their first operand.
bool gives_factors(const Op& op);
/// Bit k of `packed`: operand k, or, behind the operands, a result. All matrices must be small ones.
/// Operands of factorisations are not; where right sides or solutions are, so are the factors.
void evaluate_packed(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
                     std::uint32_t packed);

}  // namespace apsis::detail
