#pragma once

// What the ops with run-time positions share: where gather and scatter meet the elements, and how a position
// that is known only at run time is emitted over small arrays.

#include <algorithm>
#include <array>
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
    /// Adds what the start of an index vector, clamped, is in the operand; whether it was in bounds.
    bool add(const std::int64_t* vector, std::int64_t& offset) const {
      const std::int64_t start = vector[entry];
      const std::int64_t clamped = start < 0 ? 0 : start > limit ? (limit < 0 ? 0 : limit) : start;
      offset += clamped * stride;
      return clamped == start;
    }
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
  /// Calls visit(offset in the operand, offset in the result, whether all starts were in bounds) for each
  /// row, in order. Starts are clamped.
  template <class Visit>
  void each_row(const std::int64_t* indices, Visit&& visit) const;
  /// The rows at the places [first, end) of the batch's first axis; offsets are counted from base(…) of the
  /// first of them.
  Placement some(std::int64_t first, std::int64_t end) const;
  /// Offsets of the slice's elements, in row-major order of the slice.
  std::vector<Pair> elements() const;
  /// The elements of a slice that is one piece in the operand and in the result; 0 of others.
  std::int64_t piece() const;

 private:
  Dims operand_steps() const;  // from one index to the next along each axis of the batch
  template <std::size_t n, class Visit>
  void walk_rows_of(const std::int64_t* indices, Visit&& visit) const;
  template <class AddStarts, class Visit>
  void walk_rows(const std::int64_t* indices, AddStarts&& add_starts, Visit&& visit) const;
};

// The innermost axis of the batch is a plain loop; the others count like an odometer.
template <class AddStarts, class Visit>
void Placement::walk_rows(const std::int64_t* indices, AddStarts&& add_starts, Visit&& visit) const {
  if (rows == 0) return;
  const Dims steps = operand_steps();
  const std::size_t outer = batch.empty() ? 0 : batch.size() - 1;
  const std::int64_t inner = batch.empty() ? 1 : batch.back(), length = vector_length;
  const std::int64_t operand_step = batch.empty() ? 0 : steps.back(),
                     result_step = batch.empty() ? 0 : batch_strides.back();
  Dims index = Dims::filled(outer, 0);
  for (Pair first{0, 0};;) {
    Pair at = first;
    for (std::int64_t i = 0; i < inner; ++i, indices += length) {
      std::int64_t offset = at.operand;
      const bool inside = add_starts(indices, offset);
      visit(offset, at.result, inside);
      at.operand += operand_step;
      at.result += result_step;
    }
    std::size_t axis = outer;
    for (;;) {
      if (axis == 0) return;
      --axis;
      first.operand += steps[axis];
      first.result += batch_strides[axis];
      if (++index[axis] < batch[axis]) break;
      first.operand -= steps[axis] * batch[axis];
      first.result -= batch_strides[axis] * batch[axis];
      index[axis] = 0;
    }
  }
}

/// With `n` starts, which stay in registers whatever `visit` writes.
template <std::size_t n, class Visit>
void Placement::walk_rows_of(const std::int64_t* indices, Visit&& visit) const {
  std::array<Start, n> all;
  std::copy_n(starts.begin(), n, all.begin());
  walk_rows(
      indices,
      [all](const std::int64_t* vector, std::int64_t& offset) {
        bool inside = true;
        for (const Start& s : all) inside &= s.add(vector, offset);
        return inside;
      },
      visit);
}

template <class Visit>
void Placement::each_row(const std::int64_t* indices, Visit&& visit) const {
  if (starts.size() == 1) {
    const Start only = starts[0];
    // Elements of a vector, one after the other.
    if (only.stride == 1 && only.limit >= 0 && vector_length == 1 && batch.size() == 1 &&
        batch_strides[0] == 1 && operand_steps()[0] == 0) {
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t start = indices[i];
        if (start >= 0 && start <= only.limit) [[likely]]
          visit(start, i, true);
        else
          visit(start < 0 ? 0 : only.limit, i, false);
      }
      return;
    }
    return walk_rows_of<1>(indices, visit);
  }
  if (starts.size() == 2) return walk_rows_of<2>(indices, visit);
  walk_rows(
      indices,
      [&](const std::int64_t* vector, std::int64_t& offset) {
        bool inside = true;
        for (const Start& s : starts) inside &= s.add(vector, offset);
        return inside;
      },
      visit);
}

/// Calls work(number type) with an integer type as wide as an element of up to 8 bytes, which is moved as
/// one.
template <class Work>
bool as_words(std::size_t item_bytes, Work&& work) {
  switch (item_bytes) {
    case 1:
      return work(std::uint8_t()), true;
    case 2:
      return work(std::uint16_t()), true;
    case 4:
      return work(std::uint32_t()), true;
    case 8:
      return work(std::uint64_t()), true;
    default:
      return false;
  }
}

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
