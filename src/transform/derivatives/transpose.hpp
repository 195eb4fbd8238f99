#pragma once

#include "ir/graph.hpp"

namespace apsis::detail {

/// Bytes of an array up to which a sum of two costs no more than to go on from one of them:
/// `TransposeRule::sums` has the larger ones.
inline constexpr std::size_t small_sum = 256;

/// Cotangents of the inputs marked `linear`, given those of the outputs (empty = zero, in and out). `inputs`
/// holds the values of the other inputs. What does not depend on linear inputs is computed forwards first.
/// Runs under the current trace, in time linear in the graph.
std::vector<Array> backward_pass(const Graph& graph, const std::vector<bool>& linear,
                                 std::span<const Array> inputs, std::span<const Array> cotangents);

/// Whether a cotangent may come with a condition under which it counts: one for so many of its first axes, or
/// (`any`) for as many as it has one for. Else it is zero where it does not count.
struct Conditional {
  enum : int { no = -2, any = -1 };
  int axes = no;
};

/// Conditions under which the cotangents of a graph's outputs count, and what their sums start from.
struct GivenConditions {
  struct Use {
    int which = -1;  // of the conditions; -1: none
    Dims axes;       // of the cotangent, those that the condition has
  };
  std::vector<Aval> avals;      // of the conditions
  std::vector<Use> of_outputs;  // for the first outputs, or all
  std::vector<Use> of_sums;     // for the sums of the first linear inputs, or all
};

/// The transposed graph: inputs are the non-linear inputs in order, then the cotangents of the outputs marked
/// `ct_mask`, then the sums of the linear inputs marked `sum_mask`; outputs are the cotangents of the linear
/// inputs marked in `out_mask` (the others are zero), in order, those with a sum added to it. With
/// `instantiate[i]` (by linear input, counted among the linear ones, as is `sum_mask`) the cotangent is there
/// even if zero. With `conditional` (by linear input, or none at all) their conditions are further outputs;
/// `instantiate` and `out_mask` then have a second entry a linear input, for these. The conditions `given`
/// are the last inputs.
GraphRef transpose_graph(const Graph& graph, const std::vector<bool>& linear,
                         const std::vector<bool>& ct_mask, const std::vector<bool>& instantiate,
                         std::vector<bool>& out_mask, const std::vector<bool>& sum_mask = {},
                         std::span<const Conditional> conditional = {}, const GivenConditions& given = {});

}  // namespace apsis::detail
