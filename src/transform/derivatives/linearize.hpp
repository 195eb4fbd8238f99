#pragma once

#include "apsis/transform/callee.hpp"
#include "transform/batch/derived.hpp"
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
  DerivedScope derived_;
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

/// Whether some operands are values of the tangent program: then the rule splits the op, or stages it as it
/// is.
bool is_mixed(const LinearizeRule& r);
void stage_whole(const Op& op, const LinearizeRule& r);

}  // namespace apsis::detail
