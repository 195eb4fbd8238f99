#pragma once

// What the ops with run-time positions share: where gather and scatter meet the elements, and how a position
// that is known only at run time is emitted over small arrays.

#include <optional>
#include <vector>

#include "apsis/core/emitter.hpp"
#include "apsis/core/op.hpp"
#include "ir/view.hpp"
#include "ops/index_params.hpp"
#include "ops/lax.hpp"
#include "ops/strided_copy.hpp"

namespace apsis::detail {

/// `tangent`, or zeros of the primal's shape where it is empty.
inline Array or_zeros(const Array& tangent, const Array& primal) {
  return tangent.is_empty() ? lax::full_like(primal.aval(), 0) : tangent;
}
/// The operand with its mapped axis in front, repeated if it has none.
Array batched_front(const Array& operand, int axis, std::int64_t size);
/// The bit pattern of `value` in `dtype`, which is not complex.
std::uint64_t element_bits(Dtype dtype, double value);

/// Whether the numbers of a gather name axes that the operand, the indices and the result have, none twice.
bool fits(const GatherParams& p, const Shape& operand, const Shape& indices);

/// Where the index vectors of a gather (or scatter) put their slices. "Result" is the gather's result or the
/// scatter's updates.
struct Placement {
  /// One axis of the operand whose start is read from the index vector.
  struct Start {
    std::int64_t entry, limit, stride;  // of the index vector; the greatest start; of the operand
  };
  /// A coordinate of the row that is also one of the operand.
  struct Shared {
    std::size_t batch_axis;
    std::int64_t stride;
  };
  struct Pair {
    std::int64_t operand, result;
  };

  Shape batch, slice, result;
  Dims operand_strides, slice_strides,
      batch_strides;  // of the operand; of the result along the slice's and row's axes
  std::vector<Start> starts;
  std::vector<Shared> shared;
  std::int64_t rows = 1, vector_length = 0;

  Placement(const GatherParams& p, const Shape& operand, const Shape& indices);
  /// The same for an operand with these strides.
  Placement(const GatherParams& p, const Shape& operand, const Dims& strides, const Shape& indices);
  /// Offsets of a row that do not depend on the indices.
  Pair base(std::int64_t row) const;
  /// Adds the starts read from `indices`, clamped; false if one was out of bounds.
  bool add_starts(const std::int64_t* indices, std::int64_t row, std::int64_t& operand_offset) const;
  /// Offsets of the slice's elements, in row-major order of the slice.
  std::vector<Pair> elements() const;
};

/// The bits of what an index out of bounds yields, of a dtype that is not complex.
std::uint64_t missing_bits(Dtype dtype, OutOfBounds mode);
/// What a scatter makes of an element and an update; not complex.
Value emit_combined(Emitter& e, ScatterKind kind, Value old, Value update);

/// A run-time condition; without a value it is certain.
using Condition = std::optional<Value>;

/// A start known at run time, for emission: 0 ≤ clamped start ≤ limit.
class EmittedStart {
 public:
  EmittedStart(Emitter& e, Value start, std::int64_t limit, std::int64_t stride);
  std::int64_t limit() const { return limit_; }
  std::int64_t stride() const { return stride_; }
  /// The start, clamped, is at least p (1 ≤ p ≤ limit).
  Value at_least(std::int64_t p) const { return at_least_[static_cast<std::size_t>(p - 1)]; }
  /// The start, clamped, is p.
  Condition equals(Emitter& e, std::int64_t p) const;
  /// The start lies in bounds.
  Value inside(Emitter& e) const;

 private:
  Value start_;
  std::int64_t limit_, stride_;
  std::vector<Value> at_least_;
};

/// The element at `offset` plus the starts: selects over all places it can be.
Value emit_pick(Emitter& e, std::span<const EmittedStart> starts, std::span<const Value> elements,
                std::int64_t offset);
Condition emit_both(Emitter& e, const Condition& a, const Condition& b);
/// `if_true` where the condition holds.
Value emit_choice(Emitter& e, const Condition& condition, Value if_true, Value if_false);

}  // namespace apsis::detail
