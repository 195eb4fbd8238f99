#include "passes/loop_dce.hpp"

#include <algorithm>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ir/loop.hpp"

namespace apsis::detail {
namespace {

using Marks = std::vector<char>;

/// What a loop, or a map over lanes, keeps of its operands and results.
struct Kept {
  Marks operands, results;
};

/// Cuts down the graphs of a program. On the way back through a loop over lists its linear ones are made, so
/// another has to tell the length; the first is none of the linear ones, and stays if `will_be_transposed`.
class Cutting {
 public:
  explicit Cutting(bool will_be_transposed) : will_be_transposed_(will_be_transposed) {}
  /// The values that the marked outputs, and effects, are computed from.
  Marks live_values(const Graph& graph, const Marks& outputs) const;
  /// The graph from all inputs to all outputs.
  GraphRef whole(const Graph& graph) const;
  /// The graph from the marked inputs to the marked outputs; nothing that is needed may hang on the others.
  GraphRef prune(const Graph& graph, const Marks& inputs, const Marks& outputs) const;

 private:
  Kept kept_of_lanes(const Eqn& e, const Marks& values) const;
  Kept kept_of(const Eqn& e, const Marks& values) const;
  Params cut_down(const Eqn& e, const Kept& kept) const;
  void add_cut_down(GraphBuilder& builder, GraphCopy& copy, const Graph& graph, const Eqn& e,
                    const Kept& kept) const;

  const bool will_be_transposed_;
};

bool is_cut_down(const Eqn& e) { return is_loop(e) || e.op->kind == OpKind::MapLanes; }

/// The results that are read, and the operands that a lane reads for them.
Kept Cutting::kept_of_lanes(const Eqn& e, const Marks& values) const {
  const auto first = values.begin() + e.first_result;
  Kept kept{{}, Marks(first, first + e.result_count)};
  kept.operands = live_values(*e.params.as<MapLanesParams>().region, kept.results);
  kept.operands.resize(e.operand_count);
  return kept;
}

/// The carries and ys whose results are read, the carries that these, the condition or an effect are computed
/// from, and of constants and xs what is read.
Kept Cutting::kept_of(const Eqn& e, const Marks& values) const {
  if (e.op->kind == OpKind::MapLanes) return kept_of_lanes(e, values);
  const Loop loop(e);
  const auto first = values.begin() + e.first_result;
  Kept kept{Marks(e.operand_count, 0), Marks(first, first + e.result_count)};
  Marks in_cond, in_body;
  if (loop.cond) {
    in_cond = live_values(*loop.cond, Marks(1, 1));
    for (std::size_t c = 0; c < loop.carries; ++c) kept.results[c] |= in_cond[loop.cond_consts + c];
  }
  for (bool settled = false; !settled;) {
    settled = true;
    in_body = live_values(*loop.body, kept.results);
    for (std::size_t c = 0; c < loop.carries; ++c)
      if (in_body[loop.consts + c] && !kept.results[c]) {
        kept.results[c] = 1;
        settled = false;
      }
  }
  std::copy_n(in_cond.begin(), loop.cond_consts, kept.operands.begin());
  std::copy_n(in_body.begin(), loop.body->input_count(),
              kept.operands.begin() + static_cast<std::ptrdiff_t>(loop.cond_consts));
  const auto carries = kept.operands.begin() + static_cast<std::ptrdiff_t>(loop.first_carry()),
             xs = carries + static_cast<std::ptrdiff_t>(loop.carries);
  std::copy_n(kept.results.begin(), loop.carries, carries);
  // The length of lists is told by one of them.
  if (!loop.cond && loop.length < 0 &&
      (will_be_transposed_ || std::find(xs, kept.operands.end(), 1) == kept.operands.end()))
    *xs = 1;
  return kept;
}

Marks Cutting::live_values(const Graph& graph, const Marks& outputs) const {
  Marks live(graph.value_count(), 0);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) live[graph.outputs()[i]] = 1;
  const auto eqns = graph.eqns();
  for (std::size_t i = eqns.size(); i-- > 0;) {
    const Eqn& e = eqns[i];
    const auto results = live.begin() + e.first_result;
    if (std::find(results, results + e.result_count, 1) == results + e.result_count &&
        !has_effect(*e.op, e.params))
      continue;
    Kept kept{Marks(e.operand_count, 1), {}};
    if (is_cut_down(e)) {
      kept = kept_of(e, live);
      std::ranges::copy(kept.results, results);
    }
    const auto operands = graph.operands(e);
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (kept.operands[k]) live[operands[k]] = 1;
  }
  return live;
}

Params Cutting::cut_down(const Eqn& e, const Kept& kept) const {
  if (e.op->kind == OpKind::MapLanes) {
    MapLanesParams p = e.params.as<MapLanesParams>();
    Dims axes;
    for (std::size_t k = 0; k < kept.operands.size(); ++k)
      if (kept.operands[k]) axes.push_back(p.in_axes[k]);
    p.region = prune(*p.region, kept.operands, kept.results);
    p.in_axes = axes;
    return make_params(p);
  }
  const Loop loop(e);
  const auto part = [&](std::size_t from, std::size_t count) {
    const auto first = kept.operands.begin() + static_cast<std::ptrdiff_t>(from);
    return Marks(first, first + static_cast<std::ptrdiff_t>(count));
  };
  const auto count = [](const Marks& marks) {
    return static_cast<std::size_t>(std::ranges::count(marks, char{1}));
  };
  LoopRegions regions{{},
                      prune(*loop.body, part(loop.cond_consts, loop.body->input_count()), kept.results),
                      count(part(0, loop.cond_consts)),
                      count(part(loop.cond_consts, loop.consts)),
                      count(part(loop.first_carry(), loop.carries))};
  if (loop.cond) {
    Marks cond_in = part(0, loop.cond_consts);
    const Marks state = part(loop.first_carry(), loop.carries);
    cond_in.insert(cond_in.end(), state.begin(), state.end());
    regions.cond = prune(*loop.cond, cond_in, Marks(1, 1));
  }
  return with_loop_regions(e, regions);
}

/// Adds a loop, or a map over lanes, with fewer operands and results.
void Cutting::add_cut_down(GraphBuilder& builder, GraphCopy& copy, const Graph& graph, const Eqn& e,
                           const Kept& kept) const {
  const auto all = graph.operands(e);
  std::vector<ValueId> operands;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (kept.operands[k]) operands.push_back(copy[all[k]]);
  std::vector<ValueId> results(static_cast<std::size_t>(std::ranges::count(kept.results, char{1})));
  const ScopeOf scope(e.scope);
  builder.append(*e.op, cut_down(e, kept), operands, results, e.loc);
  for (std::uint32_t r = 0, next = 0; r < e.result_count; ++r) {
    if (!kept.results[r]) continue;
    builder.set_lanes(results[next], graph.lanes(e.first_result + r));
    copy[e.first_result + r] = results[next++];
  }
}

GraphRef Cutting::prune(const Graph& graph, const Marks& inputs, const Marks& outputs) const {
  const Marks live = live_values(graph, outputs);
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (inputs[v]) copy.add_input(v);
  for (const Eqn& e : graph.eqns()) {
    const auto first = live.begin() + e.first_result;
    if (std::find(first, first + e.result_count, 1) == first + e.result_count && !has_effect(*e.op, e.params))
      continue;
    if (is_cut_down(e))
      add_cut_down(builder, copy, graph, e, kept_of(e, live));
    else
      copy.add(e, map_regions(e.params, [&](const Graph& region) { return whole(region); }));
  }
  std::vector<ValueId> ends;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) ends.push_back(copy[graph.outputs()[i]]);
  return builder.finish(ends);
}

GraphRef Cutting::whole(const Graph& graph) const {
  if (!has_loop(graph)) return GraphRef(&graph);
  return prune(graph, Marks(graph.input_count(), 1), Marks(graph.outputs().size(), 1));
}

}  // namespace

GraphRef remove_dead_carries(const Graph& graph) { return Cutting(false).whole(graph); }
GraphRef remove_dead_carries_of_linear(const Graph& graph) { return Cutting(true).whole(graph); }

std::vector<char> inputs_read(const Graph& graph, const std::vector<char>& outputs) {
  Marks live = Cutting(false).live_values(graph, outputs);
  live.resize(graph.input_count());
  return live;
}

}  // namespace apsis::detail
