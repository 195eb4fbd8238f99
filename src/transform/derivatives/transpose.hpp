#pragma once

#include "ir/graph.hpp"

namespace apsis::detail {

/// Cotangents up to this many bytes are simply added up; larger sums are handed to the transpose rules
/// (`Accumulator::take_sum`), which may go on from them.
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

/// What a transposed graph takes and gives. Entries "by linear input" are counted among the linear inputs.
struct TransposeRequest {
  std::vector<bool> linear;       // by input of the graph
  std::vector<bool> cotangents;   // by output: whether its cotangent is an input
  std::vector<bool> instantiate;  // as `Transposed::out_mask`: what is there even if it is zero; or empty
  std::vector<bool> sums;         // by linear input: whether a sum to go on from is an input; or empty
  /// By linear input: the condition it may come with; or empty.
  std::vector<Conditional> conditional;
  GivenConditions given;
};

/// Inputs: the inputs that are not linear, the cotangents of outputs, the sums, the conditions given.
/// Outputs: the cotangents of the linear inputs, with the sums added to them, then, if `conditional` was
/// given, their conditions; of both those that `out_mask` marks. The other cotangents are zero, the others'
/// conditions hold everywhere.
struct Transposed {
  GraphRef graph;
  std::vector<bool> out_mask;  // by linear input; with conditions twice as long
};
Transposed transpose_graph(const Graph& graph, const TransposeRequest& request);

}  // namespace apsis::detail
