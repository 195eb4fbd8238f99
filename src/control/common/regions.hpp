#pragma once

// What the rules of loops and branches share.

#include "ir/regions.hpp"
#include "transform/derivatives/transpose.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {

extern const Op while_op, scan_op, cond_op, map_lanes_op, call_op;

/// A graph with other inputs: `wire` maps the new inputs to the old ones, and may permute or drop outputs.
template <class Wire>
GraphRef rewire(std::span<const Aval> new_inputs, Wire&& wire) {
  return stage_with(wire, new_inputs, "region").graph;
}

std::vector<Aval> input_avals(const Graph& graph);
std::vector<Aval> output_avals(const Graph& graph);

/// Throws unless operand avals fit the region's inputs (weakness may differ).
void check_region_operands(const char* op, const Graph& region, std::span<const Aval> operands);

/// a or b, elementwise.
std::vector<bool> mask_or(const std::vector<bool>& a, const std::vector<bool>& b);
std::vector<bool> negated(std::vector<bool> mask);
std::vector<bool> not_empty(std::span<const Array> arrays);
/// The elements of `arrays` marked in `mask`.
std::vector<Array> marked(std::span<const Array> arrays, const std::vector<bool>& mask);
std::size_t count(const std::vector<bool>& mask);
void append(std::vector<Array>& to, std::span<const Array> more);

/// For each i, the tangent, or zeros where the mask asks for one and there is none.
std::vector<Array> instantiate(std::span<const Array> primals, std::span<const Array> tangents,
                               const std::vector<bool>& mask);

/// Which operands an equation that is transposed is linear in.
std::vector<bool> linear_operands(const TransposeRule& rule);
/// The sum that the cotangent of an operand has so far, taken away from there; zeros if there is none.
Array take_sum(Accumulator& operand);
/// Those of the linear operands from `first` on that have one; `mask` says which, counted among the linear
/// ones.
std::vector<Array> take_sums(const TransposeRule& rule, std::size_t first, std::vector<bool>& mask);

/// The conditions that the cotangents of an equation with regions come with, each once, as operands of what
/// is bound for it.
struct Conditions {
  /// With `same_axes`, one that is for other axes of another cotangent is another one.
  explicit Conditions(const TransposeRule& rule, bool same_axes = false);
  GivenConditions given;  // of the region's outputs, which are the results
  std::vector<Array> arrays;
};

/// Makes results of a region that are one value one array, so that it is seen that conditions are the same;
/// what is an operand is that, if the region runs once, on these operands.
void share_values(const Graph& region, std::span<const Array> operands, std::span<Array> results);

/// Hands the results of a region that was transposed with conditions to the rule: those of the operands from
/// `first` on. `mask` is transpose_graph's.
void take_cotangents(const TransposeRule& rule, std::size_t first, std::span<const Array> found,
                     const std::vector<bool>& mask);

/// Where the results of a batched region, which are those of the equation, have the mapped axis; `lane` is
/// the region of one lane.
std::vector<int> places_of_results(const BatchRule& rule, const Graph& lane, const std::vector<bool>& mapped);

/// Hands the results of a Taylor-mode program, (results…, derivatives of those marked…), to the rule.
void take_jets(std::span<const Array> results, const std::vector<bool>& mask, const JetRule& rule);

/// True where the aval can carry a tangent.
std::vector<bool> inexact(std::span<const Aval> avals);

/// Element `i` along axis 0 of a concrete array, copied; and the concrete array of equally shaped entries.
Array entry_of(const Array& stacked, std::int64_t i);
void store_entry(Array& stacked, std::int64_t i, const Array& entry);
/// A concrete list of these entries.
Array make_list(const Aval& list_aval, std::vector<Array> entries);
const std::vector<Array>& entries_of(const Array& list);
Aval list_of(const Aval& entry);
Aval entry_aval(const Aval& list);
/// `a` with an axis of `size` in front; a list becomes a list per lane.
Aval stacked(const Aval& a, std::int64_t size);
/// Without the axis in front.
Aval unstacked(const Aval& a);

}  // namespace apsis::detail
