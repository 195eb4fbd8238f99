#pragma once

// Partial evaluation: a program in two, one of what is known beforehand and one of the rest. It is what
// linearization rules do with regions.

#include "transform/derivatives/linearize.hpp"

namespace apsis::detail {

/// What the inputs are that a program is split by: they have tangents, which are the rest; or they are values
/// of a tangent program themselves.
enum class Marked : std::uint8_t { Moving, Unknown };
inline Marked marked_operands(const LinearizeRule& r) {
  return is_mixed(r) ? Marked::Unknown : Marked::Moving;
}

/// What the known part keeps for the other: all values that are read there (residuals), or none, so that they
/// are computed again.
enum class Keep : std::uint8_t { Residuals, Nothing };

/// `known` maps the inputs known (those that are moving are, too) to (the outputs of `known_mask`…,
/// residuals…). `linear` maps (tangents of the inputs moving or inputs unknown…, residuals…) to the outputs
/// of `out_mask` or their tangents; without residuals it takes the inputs known before all others.
struct Split {
  GraphRef known, linear;
  std::size_t residual_count = 0;
  std::vector<bool> known_mask, out_mask;

  /// Hands the results of both to a rule.
  void take(const LinearizeRule& r, std::span<const Array> results, std::span<const Array> tangents) const;
};
/// If nothing is kept, outputs marked `instantiate` are among those of `linear` even if they do not depend on
/// the inputs marked.
Split split(const Graph& graph, const std::vector<bool>& marked, Marked what, Keep keep,
            const std::vector<bool>& instantiate = {});

/// The region of an op that runs it once, split with residuals, and the operands of both parts.
struct SplitCall : Split {
  SplitCall(const Graph& region, const LinearizeRule& r);
  std::vector<bool> known_operands, tangent_operands;
  std::vector<Array> known_in, tangents_in;
};

}  // namespace apsis::detail
