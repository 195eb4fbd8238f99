#include "passes/hoist_invariants.hpp"

#include <algorithm>

#include "ir/copy.hpp"
#include "ir/loop.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

using Flags = std::vector<char>;

std::size_t count(const Flags& flags) { return static_cast<std::size_t>(std::ranges::count(flags, char{1})); }

/// Whether an equation may run where it would not have run: it ends, and throws nothing.
bool may_move(const Eqn& e) {
  if (has_effect(*e.op, e.params) || e.op->axis) return false;
  switch (e.op->kind) {
    case OpKind::Elementwise:
      if (!e.op->emit) return false;  // the user's own code runs
      break;
    case OpKind::Constant:
    case OpKind::View:
    case OpKind::Reduce:
    case OpKind::Contract:
    case OpKind::Index:
    case OpKind::Scan:
    case OpKind::Cond:
    case OpKind::Call:
      break;
    default:
      return false;
  }
  bool regions = true;
  each_region(e.params, [&](const Graph& region) {
    regions = regions && std::ranges::all_of(region.eqns(), [](const Eqn& inner) { return may_move(inner); });
  });
  return regions;
}

constexpr std::int64_t costly = 16;  // instructions

/// Whether all elements of a large result are one number that is soon computed again: `repeated` says so of
/// values.
bool repeats_number(const Graph& graph, const Eqn& e, const Flags& repeated) {
  constexpr std::int64_t few = 256;  // elements that are kept
  const auto operands = graph.operands(e);
  if (graph.aval(e.first_result).size() <= few) return false;
  if (e.op->view_kind == ViewKind::Repeated)
    return graph.aval(operands[0]).rank() == 0 || repeated[operands[0]];
  return e.op->kind == OpKind::Elementwise && e.result_count == 1 && fusible(graph, e) && !operands.empty() &&
         emission_cost(graph, e) < costly &&
         std::ranges::all_of(operands, [&](ValueId v) { return repeated[v] != 0; });
}

/// Whether a result is worth the memory, or the register, that holds it through a loop.
bool worth_keeping(const Graph& graph, const Eqn& e) {
  constexpr std::size_t held_limit = 1 << 20;
  if (e.op->kind == OpKind::Constant || e.op->kind == OpKind::View) return false;
  std::size_t bytes = 0;
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    if (graph.aval(e.first_result + r).is_list()) return false;
    bytes += graph.aval(e.first_result + r).bytes();
  }
  if (bytes > held_limit) return false;
  // Registers hold an array that small, in each lane if they differ.
  constexpr std::int64_t few = 16;
  if (fusible(graph, e)) return graph.aval(e.first_result).size() > few || emission_cost(graph, e) >= costly;
  return true;
}

/// Which values an equation or an output reads.
Flags values_read(const Graph& graph) {
  Flags read(graph.value_count(), 0);
  for (const Eqn& e : graph.eqns())
    for (ValueId v : graph.operands(e)) read[v] = 1;
  for (ValueId v : graph.outputs()) read[v] = 1;
  return read;
}

/// A region of a loop without what it computes anew in each iteration for nothing.
struct Hoisted {
  GraphRef graph;                  // (constants…, kept inputs…) → outputs
  std::vector<ValueId> constants;  // values of the builder around the loop
};

/// Which equations of a region go before the loop: what is worth it and the same in every iteration, and what
/// that is computed from.
struct Choice {
  Flags hoisted;  // by equation: its results become constants
  Flags before;   // by equation: it is computed before the loop; some are computed in the loop, too
};

Choice choose(const Graph& region, const GraphCopy& before) {
  Flags same(region.value_count(), 0), wanted(region.value_count(), 0), repeated(region.value_count(), 0);
  Choice choice{Flags(region.eqns().size(), 0), {}};
  for (ValueId v = 0; v < region.input_count(); ++v) same[v] = before.knows(v);
  for (std::size_t i = 0; i < region.eqns().size(); ++i) {
    const Eqn& e = region.eqns()[i];
    const bool all = std::ranges::all_of(region.operands(e), [&](ValueId v) { return same[v] != 0; });
    if (!all || !may_move(e)) continue;
    std::fill_n(same.begin() + e.first_result, e.result_count, char{1});
    const bool number = repeats_number(region, e, repeated);
    if (number) repeated[e.first_result] = 1;
    choice.hoisted[i] = !number && region.operands(e).size() > 0 && worth_keeping(region, e);
  }
  choice.before = choice.hoisted;
  for (std::size_t i = region.eqns().size(); i-- > 0;) {
    const Eqn& e = region.eqns()[i];
    for (std::uint32_t r = 0; r < e.result_count; ++r) choice.before[i] |= wanted[e.first_result + r];
    if (choice.before[i])
      for (ValueId v : region.operands(e)) wanted[v] = 1;
  }
  return choice;
}

/// `before` has the numbers, in the builder around the loop, of the inputs that are always the same. The
/// other inputs are kept if they are marked.
Hoisted hoist(const Graph& region, GraphCopy& before, const Flags& kept) {
  Flags fixed(region.input_count(), 0);
  for (ValueId v = 0; v < region.input_count(); ++v) fixed[v] = before.knows(v);
  const Choice choice = choose(region, before);
  for (std::size_t i = 0; i < region.eqns().size(); ++i)
    if (choice.before[i]) before.add(region.eqns()[i]);

  // What is left, and which values it reads.
  Flags read(region.value_count(), 0), left(region.eqns().size(), 0);
  for (ValueId v : region.outputs()) read[v] = 1;
  for (std::size_t i = region.eqns().size(); i-- > 0;) {
    const Eqn& e = region.eqns()[i];
    bool used = has_effect(*e.op, e.params);
    for (std::uint32_t r = 0; r < e.result_count; ++r) used |= read[e.first_result + r] != 0;
    left[i] = used && !choice.hoisted[i];
    if (left[i])
      for (ValueId v : region.operands(e)) read[v] = 1;
  }
  Hoisted result;
  GraphBuilder builder;
  GraphCopy copy(builder, region);
  const auto add_constant = [&](ValueId v) {
    copy.add_input(v);
    result.constants.push_back(before[v]);
  };
  for (ValueId v = 0; v < region.input_count(); ++v)
    if (fixed[v] && read[v]) add_constant(v);
  for (std::size_t i = 0; i < region.eqns().size(); ++i)
    for (std::uint32_t r = 0; choice.hoisted[i] && r < region.eqns()[i].result_count; ++r)
      if (read[region.eqns()[i].first_result + r]) add_constant(region.eqns()[i].first_result + r);
  for (ValueId v = 0; v < region.input_count(); ++v)
    if (!fixed[v] && kept[v]) copy.add_input(v);
  for (std::size_t i = 0; i < region.eqns().size(); ++i)
    if (left[i]) copy.add(region.eqns()[i]);
  result.graph = builder.finish(copy.outputs());
  return result;
}

/// The marked outputs of a graph with all its inputs. Something reads whatever its loops carry and record.
GraphRef hoist_in(const Graph& graph, const Flags& outputs);

/// `copy` is of the graph around the loop, into `builder`.
void add_loop(GraphBuilder& builder, GraphCopy& copy, const Graph& graph, const Eqn& e, const Flags& read) {
  const Loop loop(e);
  // That a loop ends, within its bound and before it is cancelled, is a result too: one with no other stays.
  bool changes = false;
  for (std::size_t r = 0; r < e.result_count; ++r)
    changes |= read[e.first_result + r] && (r >= loop.carries || !loop.unchanging(r));
  if (loop.cond && !changes) return copy.add(e);
  const std::vector<ValueId> operands = copy(graph.operands(e));
  const std::span<const ValueId> all(operands);

  // Carries that never change are constants.
  Flags outputs(e.result_count, 1), carried(loop.carries, 1);
  for (std::size_t c = 0; c < loop.carries; ++c)
    if (loop.unchanging(c)) {
      copy[static_cast<ValueId>(e.first_result + c)] = operands[loop.first_carry() + c];
      outputs[c] = carried[c] = 0;
    }
  // A region whose constants are `consts`.
  const auto hoist_from = [&](const Graph& region, std::span<const ValueId> consts, Flags kept) {
    GraphCopy before(builder, region);
    before.set_inputs(consts);
    for (std::size_t c = 0; c < loop.carries; ++c) {
      const auto input = static_cast<ValueId>(consts.size() + c);
      kept[input] = carried[c];
      if (!carried[c]) before[input] = operands[loop.first_carry() + c];
    }
    return hoist(region, before, kept);
  };
  const GraphRef simple_body = hoist_in(*loop.body, outputs);
  const Hoisted body = hoist_from(*simple_body, all.subspan(loop.cond_consts, loop.consts),
                                  Flags(loop.body->input_count(), 1));
  Hoisted cond;
  if (loop.cond) {
    const GraphRef simple_cond = hoist_in(*loop.cond, {1});
    cond = hoist_from(*simple_cond, all.first(loop.cond_consts), Flags(loop.cond->input_count(), 0));
  }

  std::vector<ValueId> in = cond.constants, made(body.graph->outputs().size());
  in.insert(in.end(), body.constants.begin(), body.constants.end());
  for (std::size_t c = 0; c < loop.carries; ++c)
    if (carried[c]) in.push_back(operands[loop.first_carry() + c]);
  in.insert(in.end(), all.begin() + static_cast<std::ptrdiff_t>(loop.first_x()), all.end());
  const Params params = with_loop_regions(
      e, {cond.graph, body.graph, cond.constants.size(), body.constants.size(), count(carried)});
  builder.append(*e.op, params, in, made, e.loc);
  for (std::size_t r = 0, next = 0; r < outputs.size(); ++r)
    if (outputs[r]) copy[static_cast<ValueId>(e.first_result + r)] = made[next++];
}

GraphRef hoist_in(const Graph& graph, const Flags& outputs) {
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  const Flags read = values_read(graph);
  for (const Eqn& e : graph.eqns()) {
    if (is_loop(e))
      add_loop(builder, copy, graph, e, read);
    else
      copy.add(e, map_regions(e.params, hoist_invariants));
  }
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i]) results.push_back(copy[graph.outputs()[i]]);
  return builder.finish(results);
}

}  // namespace

GraphRef hoist_invariants(const Graph& graph) {
  return has_loop(graph) ? hoist_in(graph, Flags(graph.outputs().size(), 1)) : GraphRef(&graph);
}

}  // namespace apsis::detail
