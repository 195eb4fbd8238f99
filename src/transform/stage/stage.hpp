#pragma once

// Staging: running a function on tracers and keeping what it did as a Graph. Start here for jit, and for the
// bodies of loops and branches.

#include <unordered_map>

#include "apsis/transform/callee.hpp"
#include "ir/graph.hpp"

namespace apsis::detail {

/// Records every bind as an equation. Whatever is not its own becomes a literal (scalars written in the
/// program) or an extra input (concrete arrays, and live tracers of the traces around it), so that the graph
/// is closed.
class StageTrace : public Trace {
 public:
  StageTrace(Trace* parent, const char* name, Loc loc = {})
      : Trace(parent, name, loc), staged_in_(tag(), builder_) {}
  void process(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out,
               Loc loc) override;

  Array input(const Aval& aval, Loc loc = {});
  /// The inputs made so far.
  std::vector<Array> inputs();
  /// From here on `outer`, a traced value that may have outlived its trace, stands for `input`.
  void substitute(const Array& outer, const Array& input);
  /// The outer array `wide` is what `broadcast_in_dim` makes of `narrow`: so it is in the graph, which takes
  /// `narrow`.
  void repeat(const Array& wide, const Array& narrow, const Params& broadcast);
  /// The value number of an array seen from inside: own tracer, literal, or capture.
  ValueId value_of(const Array& a, const char* op_name, Loc loc);
  GraphBuilder& builder() { return builder_; }
  std::size_t capture_count() const { return captures_.size(); }
  /// The program so far, with these outputs; `captures` gets the outer arrays behind the extra inputs, in the
  /// graph's order.
  GraphRef finish(std::span<const Array> outputs, std::vector<Array>& captures);

 private:
  GraphBuilder builder_;
  StagedIn staged_in_;
  std::vector<ValueId> fixed_inputs_;
  std::unordered_map<const Node*, ValueId> capture_ids_;
  std::unordered_map<ValueId, Array> captures_;
  struct Repeated {
    Array wide, narrow;
    Params broadcast;
  };
  std::unordered_map<const Node*, Repeated> repeated_;  // by the wide array
};

/// A staged function: inputs of `graph` are the arguments, then the captures.
struct Staged {
  GraphRef graph;
  std::vector<Array> captures;
};

std::vector<Aval> avals_of(std::span<const Array> arrays);

/// Stages `callee` on arguments of these avals. The current trace becomes the parent; `loc` is the place of
/// the transformation, which an argument that leaks is reported with.
Staged stage(const Callee& callee, std::span<const Aval> arguments, const char* name, Loc loc = {});

/// Stages a function written in C++ here: `f(std::span<const Array>) → std::vector<Array>`.
template <class F>
Staged stage_with(F&& f, std::span<const Aval> arguments, const char* name, Loc loc = {}) {
  return stage(callee_of(f), arguments, name, loc);
}

}  // namespace apsis::detail
