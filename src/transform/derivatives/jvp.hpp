#pragma once

#include "apsis/transform/callee.hpp"
#include "transform/batch/derived.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {

/// Forward mode: values are pairs of primal and tangent. A result whose tangents are all zero is no pair at
/// all, so what does not depend on the inputs runs as if undifferentiated.
class JvpTrace : public Trace {
 public:
  explicit JvpTrace(Trace* parent, Loc loc = {}) : Trace(parent, "jvp", loc) {}
  void process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
               Loc loc) override;
  Array pair(const Array& primal, const Array& tangent, Loc loc = {}) const;
  /// Splits a value into primal and (possibly empty) tangent.
  std::pair<Array, Array> split(const Array& a) const;

 private:
  DerivedScope derived_;
};

/// Runs an op that has no derivative on purpose. Throws if a result could have one: it is not known to be
/// zero.
void bind_discrete(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
                   Loc loc);

/// Primal results and their tangents. Empty tangents are zero, in and out.
struct JvpResult {
  std::vector<Array> outs, tangents;
};
JvpResult jvp(const Callee& callee, std::span<const Array> primals, std::span<const Array> tangents,
              Loc loc = {});

/// The avals of (inputs…, tangents of the inputs marked), and the tangents in values so ordered: one an
/// input, empty where it is not marked.
std::vector<Aval> avals_with_tangents(const Graph& graph, const std::vector<bool>& in_mask);
std::vector<Array> tangents_among(std::span<const Array> in, const std::vector<bool>& in_mask);

/// The graph of (inputs…, tangents of the inputs marked) → (outputs…, tangents of the outputs marked in
/// `out_mask`). With `instantiate[i]`, output i gets a tangent even if it is zero. Used by the rules of loops
/// and branches.
GraphRef jvp_graph(const Graph& graph, const std::vector<bool>& in_mask, const std::vector<bool>& instantiate,
                   std::vector<bool>& out_mask);

}  // namespace apsis::detail
