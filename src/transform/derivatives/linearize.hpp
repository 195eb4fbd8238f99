#pragma once

#include "apsis/transform/callee.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {

/// Where tangent programs are recorded: what is bound on tangents is staged, all else runs under the parent
/// at once. So a derivative rule written in one piece splits itself into its known and its linear part. An op
/// with regions that takes both (a jvp rule has differentiated a loop, say) is split by its linearization
/// rule.
class TangentTrace : public StageTrace {
 public:
  explicit TangentTrace(Trace* parent, Loc loc = {}) : StageTrace(parent, "linearize", loc) {}
  void process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
               Loc loc) override;
  /// Runs a linearization rule for this trace. What the rule itself binds on tangents is staged as it is.
  void linearize(const Op& op, const Params& params, std::span<const Array> primals,
                 std::span<const Array> tangents, std::span<Array> outs, std::span<Array> out_tangents);

 private:
  bool splits_ = true;
};

/// Pairs of a primal, computed under the parent, and a tangent, a value of the tangent program.
class LinearizeTrace : public Trace {
 public:
  explicit LinearizeTrace(Trace* parent, Loc loc = {})
      : Trace(parent, "linearize", loc), tangent_trace_(parent, loc) {}
  void process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
               Loc loc) override;
  TangentTrace& tangent_trace() { return tangent_trace_; }
  Array pair(const Array& primal, const Array& tangent, Loc loc = {}) const;
  std::pair<Array, Array> split(const Array& a) const;

 private:
  TangentTrace tangent_trace_;
};

/// The derivative at a point as a program: inputs are the tangents of the inputs marked `in_mask`, then the
/// residuals; outputs the tangents of the outputs marked `out_mask` (the others do not depend on the inputs).
struct Linear {
  GraphRef graph;
  std::vector<Array> residuals;
  std::vector<bool> in_mask, out_mask;
};
struct Linearized {
  std::vector<Array> outs;
  Linear linear;
};
Linearized linearize(const Callee& callee, std::span<const Array> primals, const std::vector<bool>& in_mask,
                     Loc loc = {});

/// Applies the program to tangents (one an input, empty = zero); empty results are zero.
std::vector<Array> push_forward(const Linear& linear, std::span<const Array> tangents);
/// Applies its transpose to cotangents (one an output, empty = zero); empty results are zero.
std::vector<Array> pull_back(const Linear& linear, std::span<const Array> cotangents);

/// The graph of (inputs…, tangents of the inputs marked) → (tangents of the outputs marked in `out_mask`), in
/// which all that is nonlinear is computed from the inputs again: the body of a reverse loop. Unlike
/// `jvp_graph`, it can be transposed. With `instantiate[i]`, output i gets a tangent even if it is zero.
GraphRef tangent_graph(const Graph& graph, const std::vector<bool>& in_mask,
                       const std::vector<bool>& instantiate, std::vector<bool>& out_mask);

/// A graph split in two: `known` maps its inputs to (the outputs of `known_mask`…, residuals…), `linear` maps
/// (tangents…, residuals…) to the outputs of `out_mask`.
struct SplitGraph {
  GraphRef known, linear;
  std::size_t residual_count = 0;
  std::vector<bool> known_mask, out_mask;
};
/// Into values and tangents: `known` takes and returns what the graph does, `linear` takes tangents of the
/// inputs marked and returns tangents.
SplitGraph split_graph(const Graph& graph, const std::vector<bool>& in_mask);
/// Into what does not depend on the inputs marked, and what does: `linear` takes these, `known` the others.
SplitGraph split_known(const Graph& graph, const std::vector<bool>& in_mask);

/// A region split as a linearization rule wants it, with the operands of both parts. (`linear` takes the
/// residuals after `tangents`.)
struct SplitCall : SplitGraph {
  std::vector<bool> known_operands, tangent_operands;
  std::vector<Array> known_in, tangents_in;
  /// Hands results of `known` and `linear` to the rule.
  void take(const LinearizeRule& r, std::span<const Array> results, std::span<const Array> tangents) const;
};
SplitCall split_call(const Graph& region, const LinearizeRule& r);

/// Whether some operands are values of the tangent program: then the rule splits the op, or stages it as it
/// is.
bool is_mixed(const LinearizeRule& r);
void stage_whole(const Op& op, const LinearizeRule& r);
/// The parts of what `split_known` split, each without residuals: `linear_part` takes (the inputs known…, the
/// others…) to the outputs of `out_mask`, computing again what it needs, `known_part` the inputs known to the
/// other outputs. The mask may mark outputs that are known.
GraphRef known_part(const SplitGraph& split, const std::vector<bool>& out_mask);
GraphRef linear_part(const SplitGraph& split, const std::vector<bool>& out_mask);

}  // namespace apsis::detail
