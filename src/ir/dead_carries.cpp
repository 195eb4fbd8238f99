#include "ir/dead_carries.hpp"

#include <algorithm>

#include "apsis/base/named_scope.hpp"
#include "ir/loop.hpp"

namespace apsis::detail {
namespace {

using Marks = std::vector<char>;

Marks live_values(const Graph& graph, const Marks& outputs);

/// What a loop, or a map over lanes, keeps of its operands and results.
struct Kept {
  Marks operands, results;
};

bool is_cut_down(const Eqn& e) { return is_loop(e) || e.op->kind == OpKind::MapLanes; }

/// The results that are read, and the operands that a lane reads for them.
Kept kept_of_lanes(const Eqn& e, const Marks& values) {
  const auto first = values.begin() + e.first_result;
  Kept kept{{}, Marks(first, first + e.result_count)};
  kept.operands = live_values(*e.params.as<MapLanesParams>().region, kept.results);
  kept.operands.resize(e.operand_count);
  return kept;
}

/// The carries and ys whose results are read, the carries that these, the condition or an effect are computed
/// from, and of constants and xs what is read.
Kept kept_of(const Eqn& e, const Marks& values) {
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
    in_body = live_values(loop.body, kept.results);
    for (std::size_t c = 0; c < loop.carries; ++c)
      if (in_body[loop.consts + c] && !kept.results[c]) {
        kept.results[c] = 1;
        settled = false;
      }
  }
  std::copy_n(in_cond.begin(), loop.cond_consts, kept.operands.begin());
  std::copy_n(in_body.begin(), loop.body.input_count(),
              kept.operands.begin() + static_cast<std::ptrdiff_t>(loop.cond_consts));
  const auto carries = kept.operands.begin() + static_cast<std::ptrdiff_t>(loop.first_carry()),
             xs = carries + static_cast<std::ptrdiff_t>(loop.carries);
  std::copy_n(kept.results.begin(), loop.carries, carries);
  // The length of lists is told by one of them.
  if (loop.lists && std::find(xs, kept.operands.end(), 1) == kept.operands.end()) *xs = 1;
  return kept;
}

/// The values that the marked outputs, and effects, are computed from.
Marks live_values(const Graph& graph, const Marks& outputs) {
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

GraphRef prune(const Graph& graph, const Marks& inputs, const Marks& outputs);

Params cut_down(const Eqn& e, const Kept& kept) {
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
  const auto count = [](const Marks& marks) { return std::ranges::count(marks, char{1}); };
  const GraphRef body = prune(loop.body, part(loop.cond_consts, loop.body.input_count()), kept.results);
  const auto consts = count(part(loop.cond_consts, loop.consts)),
             carries = count(part(loop.first_carry(), loop.carries));
  if (e.op->kind == OpKind::Scan) {
    ScanParams p = e.params.as<ScanParams>();
    p.body = body;
    p.consts = consts;
    p.carries = carries;
    return make_params(p);
  }
  WhileParams p = e.params.as<WhileParams>();
  Marks cond_in = part(0, loop.cond_consts), state = part(loop.first_carry(), loop.carries);
  cond_in.insert(cond_in.end(), state.begin(), state.end());
  p.cond_consts = count(part(0, loop.cond_consts));
  p.body_consts = consts;
  p.carries = carries;
  p.cond = prune(*loop.cond, cond_in, Marks(1, 1));
  p.body = body;
  return make_params(p);
}

/// The graph from the marked inputs to the marked outputs; nothing that is needed may hang on the others.
GraphRef prune(const Graph& graph, const Marks& inputs, const Marks& outputs) {
  const Marks live = live_values(graph, outputs);
  GraphBuilder builder;
  std::vector<ValueId> values(graph.value_count()), operands, results, ends;
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (inputs[v]) values[v] = builder.input(graph.aval(v));
  for (const Eqn& e : graph.eqns()) {
    const auto first = live.begin() + e.first_result;
    if (std::find(first, first + e.result_count, 1) == first + e.result_count && !has_effect(*e.op, e.params))
      continue;
    const Kept kept =
        is_cut_down(e) ? kept_of(e, live) : Kept{Marks(e.operand_count, 1), Marks(e.result_count, 1)};
    operands.clear();
    const auto old = graph.operands(e);
    for (std::size_t k = 0; k < old.size(); ++k)
      if (kept.operands[k]) operands.push_back(values[old[k]]);
    const ScopeOf scope(e.scope);
    results.resize(static_cast<std::size_t>(std::ranges::count(kept.results, char{1})));
    builder.append(*e.op, is_cut_down(e) ? cut_down(e, kept) : map_regions(e.params, without_dead_carries),
                   operands, results, e.loc);
    for (std::uint32_t r = 0, next = 0; r < e.result_count; ++r) {
      if (!kept.results[r]) continue;
      builder.set_lanes(results[next], graph.lanes(e.first_result + r));
      values[e.first_result + r] = results[next++];
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) ends.push_back(values[graph.outputs()[i]]);
  return builder.finish(ends);
}

}  // namespace

GraphRef without_dead_carries(const Graph& graph) {
  if (!has_loop(graph)) return GraphRef(&graph);
  return prune(graph, Marks(graph.input_count(), 1), Marks(graph.outputs().size(), 1));
}

std::vector<char> inputs_read(const Graph& graph, const std::vector<char>& outputs) {
  Marks live = live_values(graph, outputs);
  live.resize(graph.input_count());
  return live;
}

}  // namespace apsis::detail
