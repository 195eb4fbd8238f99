#pragma once

// Graphs made from graphs: what every rewrite of programs is written with.

#include <unordered_map>

#include "ir/graph.hpp"

namespace apsis::detail {

/// Appends an equation of one result as it is; the number of the result.
inline ValueId append1(GraphBuilder& builder, const Op& op, const Params& params,
                       std::span<const ValueId> operands, Loc loc = {}) {
  ValueId result = 0;
  builder.append(op, params, operands, {&result, 1}, loc);
  return result;
}

/// How often each value is read, as an output too.
std::vector<std::uint32_t> count_uses(const Graph& graph);

/// Copies equations of a graph into a builder, with their places, scopes and lanes, and keeps the number that
/// each of the graph's values has there.
class GraphCopy {
 public:
  /// Nothing has a number yet. Both must outlive the copy.
  GraphCopy(GraphBuilder& builder, const Graph& graph)
      : builder_(builder), graph_(graph), numbers_(graph.value_count(), unknown) {}

  /// Adds the graph's inputs as inputs of the builder.
  void add_inputs() {
    for (ValueId v = 0; v < graph_.input_count(); ++v) add_input(v);
  }
  /// Adds an input for a value, whatever makes it in the graph.
  void add_input(ValueId v) { numbers_[v] = builder_.input(graph_.aval(v)); }
  /// Values of the builder stand for the graph's inputs.
  void set_inputs(std::span<const ValueId> numbers) {
    std::copy(numbers.begin(), numbers.end(), numbers_.begin());
  }

  /// The equation with the same parameters, or with others. Its operands must have numbers; results that have
  /// a number keep it.
  void add(const Eqn& e) { add(e, e.params); }
  void add(const Eqn& e, const Params& params);
  /// All equations.
  void add_equations() {
    for (const Eqn& e : graph_.eqns()) add(e);
  }

  /// The number that stands for a value; may be set.
  ValueId& operator[](ValueId v) { return numbers_[v]; }
  ValueId operator[](ValueId v) const { return numbers_[v]; }
  bool knows(ValueId v) const { return numbers_[v] != unknown; }
  /// The numbers that stand for some values: operands, outputs.
  std::vector<ValueId> operator()(std::span<const ValueId> values) const;
  std::vector<ValueId> outputs() const { return (*this)(graph_.outputs()); }

 private:
  static constexpr ValueId unknown = 0xffffffffu;
  GraphBuilder& builder_;
  const Graph& graph_;
  std::vector<ValueId> numbers_;  // by value of the graph
  std::vector<ValueId> results_;  // of the equation that is added
};

/// The part of a graph that computes `outputs` from the values `given`, which are its inputs in this order,
/// and has the effects of the equations `effects`.
GraphRef extract(const Graph& graph, std::span<const ValueId> outputs, std::span<const ValueId> given,
                 std::span<const Eqn> effects = {});

/// A part of a graph as a graph of its own. `inputs`: the values of the graph that it reads, in their order.
struct GraphPart {
  GraphRef graph;
  std::vector<ValueId> inputs;
};
/// The same, of the graph's inputs and the values marked in `given` (by value; empty: none) whatever is read.
GraphPart extract(const Graph& graph, std::span<const ValueId> outputs, const std::vector<char>& given = {},
                  std::span<const Eqn> effects = {});
/// Runs a part. `values`: by value of the graph, those at least that the part reads.
std::vector<Array> interpret(const GraphPart& part, std::span<const Array> values);

/// The graph that takes the values `given` as further inputs, after its own, and does not compute them, with
/// these outputs.
GraphRef with_values_given(const Graph& graph, std::span<const ValueId> given,
                           std::span<const ValueId> outputs);

/// The graph with other outputs, and without what only the old ones needed; with those of its own outputs
/// that are marked.
GraphRef with_outputs(const Graph& graph, std::span<const ValueId> outputs);
GraphRef with_outputs(const Graph& graph, const std::vector<bool>& marked);

/// The graph with other parameters of its equations, in their order.
GraphRef with_params(const Graph& graph, std::span<const Params> params);

/// The graph with `map(region)`, or `map(region, equation)`, in place of each region but those of equations
/// that `leaves` says so of; itself if no region changes. What is called several times is mapped once.
template <class Map, class Leaves>
GraphRef with_regions(const Graph& graph, Map&& map, Leaves&& leaves) {
  bool changes = false;
  std::vector<Params> params;
  std::unordered_map<const Graph*, GraphRef> mapped;
  for (const Eqn& e : graph.eqns()) {
    const auto once = [&](const Graph& region) {
      GraphRef& made = mapped[&region];
      if (!made) {
        if constexpr (std::is_invocable_v<Map&, const Graph&, const Eqn&>)
          made = map(region, e);
        else
          made = map(region);
      }
      changes = changes || made.get() != &region;
      return made;
    };
    params.push_back(leaves(e) ? e.params : map_regions(e.params, once));
  }
  return changes ? with_params(graph, params) : GraphRef(&graph);
}
template <class Map>
GraphRef with_regions(const Graph& graph, Map&& map) {
  return with_regions(graph, map, [](const Eqn&) { return false; });
}

}  // namespace apsis::detail
