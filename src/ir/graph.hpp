#pragma once

// The program representation: flat SSA in contiguous pools, immutable once finished. Regions are closed: what
// a loop body captures is an explicit input. Nothing here recurses over the depth of a graph.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "apsis/core/make_params.hpp"
#include "apsis/core/op.hpp"
#include "ir/lanes.hpp"

namespace apsis::detail {

using ValueId = std::uint32_t;

struct Eqn {
  const Op* op;
  Params params;
  std::uint32_t first_operand;  // in the operand pool
  std::uint32_t operand_count;
  ValueId first_result;  // results are numbered consecutively
  std::uint32_t result_count;
  Loc loc;
  const char* scope = nullptr;  // see named_scope; like the place, no part of the program
};

class Graph {
 public:
  /// Values 0 … input_count()-1 are the inputs; the results of the equations follow in order.
  std::uint32_t input_count() const { return input_count_; }
  std::uint32_t value_count() const { return static_cast<std::uint32_t>(avals_.size()); }
  const Aval& aval(ValueId v) const { return avals_[v]; }
  std::span<const Eqn> eqns() const { return eqns_; }
  std::span<const ValueId> operands(const Eqn& e) const {
    return {operands_.data() + e.first_operand, e.operand_count};
  }
  std::span<const ValueId> outputs() const { return outputs_; }
  /// The equation that makes v; null for inputs.
  const Eqn* definition(ValueId v) const {
    return v < input_count_ ? nullptr : &eqns_[definer_[v - input_count_]];
  }
  /// Which axes of v are known to be lanes of a vmap. No part of the program.
  LaneAxes lanes(ValueId v) const { return lanes_.empty() ? LaneAxes() : lanes_[v]; }
  std::uint64_t hash() const { return hash_; }
  /// Whether an equation, here or in a region, has rules beside its program (`OpKind::Custom`).
  bool has_custom() const { return has_custom_; }
  /// Whether some equation, in regions too, has an effect.
  bool has_effect() const { return has_effect_; }
  /// The named axes over which equations, in regions too, work; "" stands for every mapped axis.
  std::span<const std::string> axes() const { return axes_; }
  /// Equal programs: same ops, parameters, operands, avals. Source places and scopes do not count.
  bool same_as(const Graph& other) const;

 private:
  friend class GraphBuilder;
  friend class GraphRef;
  std::uint32_t input_count_ = 0;
  std::vector<Aval> avals_;
  std::vector<Eqn> eqns_;
  std::vector<ValueId> operands_;
  std::vector<std::uint32_t> definer_;
  std::vector<ValueId> outputs_;
  std::vector<std::string> axes_;
  std::vector<LaneAxes> lanes_;  // by value; empty where no value has any
  bool has_effect_ = false;
  std::uint64_t hash_ = 0;
  bool has_custom_ = false;
  mutable std::atomic<std::uint32_t> refs_{0};
};

/// A shared immutable Graph.
class GraphRef {
 public:
  GraphRef() = default;
  explicit GraphRef(const Graph* g) : graph_(g) {
    if (graph_) graph_->refs_.fetch_add(1, std::memory_order_relaxed);
  }
  GraphRef(const GraphRef& o) : GraphRef(o.graph_) {}
  GraphRef(GraphRef&& o) noexcept : graph_(o.graph_) { o.graph_ = nullptr; }
  GraphRef& operator=(GraphRef o) noexcept {
    auto* g = graph_;
    graph_ = o.graph_;
    o.graph_ = g;
    return *this;
  }
  ~GraphRef() {
    if (graph_ && graph_->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete graph_;
  }
  const Graph& operator*() const { return *graph_; }
  const Graph* operator->() const { return graph_; }
  const Graph* get() const { return graph_; }
  explicit operator bool() const { return graph_ != nullptr; }
  friend bool operator==(const GraphRef& a, const GraphRef& b) {
    return a.graph_ == b.graph_ || (a.graph_ && b.graph_ && a.graph_->same_as(*b.graph_));
  }

 private:
  const Graph* graph_ = nullptr;
};

// A region as a field of a parameter struct.
inline std::uint64_t hash_field(std::uint64_t seed, const GraphRef& g) {
  return hash_word(seed, g ? g->hash() : 0);
}
void print_field(std::string& out, const GraphRef& g);
inline void parse_field(ParamsReader& r, GraphRef& g) { g = GraphRef(static_cast<const Graph*>(r.graph())); }
inline void visit_regions(const GraphRef& g, void (*visit)(void*, const void*), void* context) {
  if (g) visit(context, g.get());
}
inline void replace_regions(GraphRef& g, const void* (*map)(void*, const void*), void* context) {
  if (g) g = GraphRef(static_cast<const Graph*>(map(context, g.get())));
}
inline void visit_regions(const std::vector<GraphRef>& graphs, void (*visit)(void*, const void*),
                          void* context) {
  for (const GraphRef& g : graphs) visit_regions(g, visit, context);
}
inline void replace_regions(std::vector<GraphRef>& graphs, const void* (*map)(void*, const void*),
                            void* context) {
  for (GraphRef& g : graphs) replace_regions(g, map, context);
}
/// The regions in an equation's parameters, in field order.
std::vector<const Graph*> regions_of(const Params& params);
/// The same, visited one by one without a vector.
template <class Visit>
void each_region(const Params& params, Visit&& visit) {
  if (!params) return;
  auto run = [](void* context, const void* graph) {
    (*static_cast<std::remove_reference_t<Visit>*>(context))(*static_cast<const Graph*>(graph));
  };
  params.node()->table->regions(*params.node(), run, &visit);
}
/// The parameters with `map(region)` in the place of each region.
template <class Map>
Params map_regions(const Params& params, Map&& map) {
  bool any = false;
  each_region(params, [&](const Graph&) { any = true; });
  if (!any) return params;
  struct Context {
    std::remove_reference_t<Map>& map;
    std::vector<GraphRef> made;
  } context{map, {}};
  auto run = [](void* c, const void* graph) -> const void* {
    auto& use = *static_cast<Context*>(c);
    use.made.push_back(use.map(*static_cast<const Graph*>(graph)));
    return use.made.back().get();
  };
  return Params::adopt(params.node()->table->with_regions(*params.node(), run, &context));
}
/// The axis of operand k whose entries are, one by one, what those of axis `axis` of the result are computed
/// from; -1: there is none.
std::int64_t operand_axis(const Graph& graph, const Eqn& e, std::size_t k, std::int64_t axis);
/// An op with an effect, or with a region in which something has one: never merged, never removed.
bool has_effect(const Op& op, const Params& params);
/// Whether an op works across the lanes of the mapped axis: a collective over it, or a region with one in it.
bool uses_axis(const Op& op, const Params& params, std::string_view axis);
bool uses_axis(const Graph& graph, std::string_view axis);
/// The graph without the effects of which no result is needed, in regions too: for programs run again for
/// their values.
GraphRef without_effects(const Graph& graph);

/// Builds a Graph: merges equal equations as they come, and lets each op's `rewrite` rule put something
/// better in its place.
class GraphBuilder {
 public:
  GraphBuilder();
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  /// Inputs may be added at any time (captures are found late); `finish` puts them first, in the order of
  /// their making.
  ValueId input(const Aval& aval);
  /// A rank-0 literal.
  ValueId constant(const Array& scalar);
  /// Applies the op's rewrite rule if it has one, else appends.
  void add(const Op& op, const Params& params, std::span<const ValueId> operands, std::span<ValueId> results,
           Loc loc = {});
  /// Appends an equation as it is, or finds an equal one. Calls the op's shape rule.
  void append(const Op& op, const Params& params, std::span<const ValueId> operands,
              std::span<ValueId> results, Loc loc = {});
  const Aval& aval(ValueId v) const { return avals_[v]; }
  void set_lanes(ValueId v, const LaneAxes& lanes);
  /// The same for the results of an equation of `graph` that is now appended, `values` being the numbers
  /// here.
  void copy_lanes(const Graph& graph, const Eqn& e, std::span<const ValueId> values) {
    for (ValueId v = e.first_result; v < e.first_result + e.result_count && !graph.lanes_.empty(); ++v)
      set_lanes(values[v], graph.lanes_[v]);
  }
  /// The equation that makes v; null for inputs. Valid until the next add.
  const Eqn* definition(ValueId v) const { return definer_[v] == no_eqn ? nullptr : &eqns_[definer_[v]]; }
  std::span<const ValueId> operands(const Eqn& e) const {
    return {operands_.data() + e.first_operand, e.operand_count};
  }
  std::size_t eqn_count() const { return eqns_.size(); }

  /// The canonical form: equations reachable from outputs and effects, numbered depth first, so that the
  /// order in which the host compiler evaluated the user's operands does not show. The first `fixed` inputs
  /// stay as they are; the others (captures) are ordered by their first use, unused ones dropped, and their
  /// numbers written to `captures`.
  GraphRef finish(std::span<const ValueId> outputs, std::size_t fixed, std::vector<ValueId>& captures);
  /// All inputs stay.
  GraphRef finish(std::span<const ValueId> outputs);

 private:
  static constexpr std::uint32_t no_eqn = 0xffffffffu;
  class Finish;
  std::uint64_t key_of(const Op& op, const Params& params, std::span<const ValueId> operands) const;
  void grow();

  std::vector<Aval> avals_;
  std::vector<std::uint32_t> definer_;  // by value; no_eqn for inputs
  std::vector<ValueId> inputs_;
  std::vector<Eqn> eqns_;
  std::vector<ValueId> operands_;
  std::vector<std::uint32_t> effects_;  // equations with effects, in program order
  std::vector<std::uint32_t> table_;    // hash-consing: open addressing, eqn index + 1
  std::vector<std::uint64_t> hashes_;   // by eqn
  std::size_t distinct_ = 0;            // entries of table_
  std::vector<Aval> shape_in_, shape_out_;
  std::vector<LaneAxes> lanes_;  // by value, as far as any have been set
};

/// Notes of the results, made anew, of an equation of `graph` what is known of their lanes there.
inline void note_lanes(const Graph& graph, const Eqn& e, std::span<const Array> results) {
  for (std::uint32_t r = 0; r < e.result_count; ++r) note_lanes(results[r], graph.lanes(e.first_result + r));
}

/// Parameters of the `constant` op: the element's bits.
struct ConstantParams {
  Dtype dtype = Dtype::F64;
  bool weak = false;
  std::uint64_t bits = 0, high_bits = 0;  // high_bits: the second half of c128
  static void each(auto& self, auto&& visit) {
    visit("dtype", self.dtype);
    visit("weak", self.weak);
    visit("bits", self.bits);
    visit("high_bits", self.high_bits);
  }
};
extern const Op constant_op;
/// The scalar that a `constant` equation stands for.
Array constant_value(const Params& params);

/// Runs a graph under the current trace, one bind an equation: inlining, transformation and the evaluator in
/// one. With no current trace this is the reference evaluator.
std::vector<Array> interpret(const Graph& graph, std::span<const Array> inputs);

/// The text form; see print.cpp for the grammar. Reads back by `parse_graph`.
std::string to_string(const Graph& graph);
GraphRef parse_graph(std::string_view text);

/// Checks every invariant of a finished graph; throws InternalError.
void verify(const Graph& graph);

/// Every op by name, built-in and user's.
const Op* find_op(std::string_view name);

}  // namespace apsis::detail
