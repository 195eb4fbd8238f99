#pragma once

// A loop that few numbers move carries its derivatives by each of them along, instead of keeping a tape of
// its iterations: its tangents are then sums over these numbers.

#include "control/flow/loop_rules.hpp"

namespace apsis::detail {

/// The derivatives of a while loop that is being linearized, one column for each number that moves it: those
/// that the tangent program around it takes and its operands' tangents are computed from.
class TangentColumns {
 public:
  /// `loop`: the body in two. There are no columns if there are too many numbers, or if derivatives on the
  /// way are known by their transpose alone, or go from lane to lane. Notes for `explain` that there are
  /// some.
  TangentColumns(const SplitLoop& loop, const LinearizeRule& r);

  std::size_t size() const { return numbers_.size(); }
  /// (inputs of the body…, columns of the constants…, of the carry…) → (outputs…, columns of the carry…).
  GraphRef body() const;
  /// The columns of the operands that the loop starts with: those of constants, then those of carries.
  std::vector<Array> starts() const;
  /// The tangents of the loop's results, bound under the rule's tangent trace. `columns`: those of the carry,
  /// as the loop over `body` returns them.
  std::vector<Array> tangents(std::span<const Array> columns) const;

 private:
  struct Number {
    std::size_t source;
    std::int64_t element;
  };
  const SplitLoop& loop_;
  StageTrace& trace_;
  std::vector<Array> sources_, captures_;
  GraphRef program_;  // (sources…, captures…) → tangents of the constants and the carry
  std::vector<Number> numbers_;
};

}  // namespace apsis::detail
