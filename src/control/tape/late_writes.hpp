#pragma once

#include "control/common/regions.hpp"

namespace apsis::detail {

/// The carries of a linear body that it does nothing with but keep them where it does not write them: what
/// comes of an iteration counts where no later one writes. (Where a line search stops, the attempts before
/// have cotangents that are zero, and factors that may be infinite. In lockstep each lane keeps its last
/// attempt while others go on.) On the way back such a carry has one cotangent in all iterations, and a
/// condition for it that says what is still open: what no iteration met so far has written. Carries written
/// under one condition are a group and share theirs.
class LateWrites {
 public:
  /// A body whose inputs (consts, carries, xs) are marked where it is linear in them. Of carries not `wanted`
  /// nothing counts, and what is late among them goes through the body as it came.
  LateWrites(const Graph& body, const std::vector<bool>& linear, std::size_t consts, std::size_t carries,
             const std::vector<bool>& wanted);

  /// By carry: its group, and whether it is late, in a group or not.
  std::vector<int> group;
  std::vector<bool> late;

  std::vector<Aval> open;  // by group: the condition, for the first axes of the carries
  GraphRef body;           // (open…, inputs…) → outputs
  GraphRef next;           // (open…, inputs that are not linear…) → open, of the iteration before

 private:
  /// The value of a condition, for the first axes, at which a carry is written.
  struct Literal {
    ValueId condition;
    bool when;
    friend bool operator==(const Literal&, const Literal&) = default;
  };
  using Literals = std::vector<Literal>;
  static bool find(const Graph& body, std::span<const std::uint32_t> reads, ValueId carry, ValueId output,
                   Literals& literals);
  void make_next(const Graph& body, const std::vector<bool>& linear, std::span<const Literals> groups);
};

}  // namespace apsis::detail
