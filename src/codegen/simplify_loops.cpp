#include "codegen/simplify_loops.hpp"

#include <algorithm>

#include "codegen/cost.hpp"
#include "codegen/inline_calls.hpp"
#include "codegen/merge_loops.hpp"
#include "codegen/schedule.hpp"
#include "ir/dead_carries.hpp"
#include "ir/loop.hpp"

namespace apsis::detail {
namespace {

using Flags = std::vector<char>;

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

/// Whether a result is worth the memory, or the register, that holds it through a loop.
bool worth_keeping(const Graph& graph, const Eqn& e) {
  constexpr std::int64_t costly = 16;
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

class Simplifier {
 public:
  /// The outputs marked of a graph with all its inputs; the others are inputs. Something reads whatever its
  /// loops carry and record.
  GraphRef simplified(const Graph& given, const Flags& outputs) {
    const GraphRef merged = merge_loops(*with_calls_inlined(given, true));
    const Graph& graph = *merged;
    GraphBuilder builder;
    std::vector<ValueId> values(graph.value_count()), results;
    for (ValueId v = 0; v < graph.input_count(); ++v) values[v] = builder.input(graph.aval(v));
    const Flags read = values_read(graph);
    for (const Eqn& e : graph.eqns()) {
      if (is_loop(e))
        add_loop(builder, graph, e, read, values);
      else
        add(builder, graph, e, values);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i]) results.push_back(values[graph.outputs()[i]]);
    return builder.finish(results);
  }

 private:
  static std::vector<ValueId> mapped(std::span<const ValueId> from, const std::vector<ValueId>& values) {
    std::vector<ValueId> to;
    for (ValueId v : from) to.push_back(values[v]);
    return to;
  }

  static void copy(GraphBuilder& builder, const Graph& graph, const Eqn& e, const Params& params,
                   std::vector<ValueId>& values) {
    builder.append(*e.op, params, mapped(graph.operands(e), values),
                   {values.data() + e.first_result, e.result_count}, e.loc);
  }

  void add(GraphBuilder& builder, const Graph& graph, const Eqn& e, std::vector<ValueId>& values) {
    Params params = e.params;
    bool loops = false;
    each_region(params, [&](const Graph& region) { loops = loops || has_loop(region); });
    if (loops)
      params = map_regions(
          params, [&](const Graph& region) { return simplified(region, Flags(region.outputs().size(), 1)); });
    copy(builder, graph, e, params, values);
  }

  /// A region of a loop without what it computes anew in each iteration for nothing: that is added to
  /// `builder`.
  struct Lifted {
    GraphRef graph;                  // (constants | kept inputs) → outputs
    std::vector<ValueId> constants;  // values of the builder
  };
  /// `fixed`: by input, the value of the builder that it always is, or none. The others are kept if they are
  /// marked.
  static Lifted lift(GraphBuilder& builder, const Graph& region, const std::vector<ValueId>& fixed,
                     const Flags& kept) {
    Flags same(region.value_count(), 0), lifted(region.eqns().size(), 0), wanted(region.value_count(), 0);
    for (ValueId v = 0; v < region.input_count(); ++v) same[v] = fixed[v] != none;
    // From the last: what is worth it, and what that is computed from.
    for (std::size_t i = 0; i < region.eqns().size(); ++i) {
      const Eqn& e = region.eqns()[i];
      const bool all = std::ranges::all_of(region.operands(e), [&](ValueId v) { return same[v] != 0; });
      if (!all || !may_move(e)) continue;
      std::fill_n(same.begin() + e.first_result, e.result_count, char{1});
      lifted[i] = region.operands(e).size() > 0 && worth_keeping(region, e);
    }
    Flags outside = lifted;
    for (std::size_t i = region.eqns().size(); i-- > 0;) {
      const Eqn& e = region.eqns()[i];
      for (std::uint32_t r = 0; r < e.result_count; ++r) outside[i] |= wanted[e.first_result + r];
      if (outside[i])
        for (ValueId v : region.operands(e)) wanted[v] = 1;
    }
    std::vector<ValueId> before(region.value_count(), none);
    std::copy(fixed.begin(), fixed.end(), before.begin());
    for (std::size_t i = 0; i < region.eqns().size(); ++i)
      if (outside[i]) copy(builder, region, region.eqns()[i], region.eqns()[i].params, before);

    // What is left, and which constants it reads.
    Flags left(region.value_count(), 0), inside(region.eqns().size(), 0);
    for (ValueId v : region.outputs()) left[v] = 1;
    for (std::size_t i = region.eqns().size(); i-- > 0;) {
      const Eqn& e = region.eqns()[i];
      bool used = has_effect(*e.op, e.params);
      for (std::uint32_t r = 0; r < e.result_count; ++r) used |= left[e.first_result + r] != 0;
      inside[i] = used && !lifted[i];
      if (inside[i])
        for (ValueId v : region.operands(e)) left[v] = 1;
    }
    Lifted result;
    GraphBuilder made;
    std::vector<ValueId> values(region.value_count(), none);
    const auto constant = [&](ValueId v) {
      values[v] = made.input(region.aval(v));
      result.constants.push_back(before[v]);
    };
    for (ValueId v = 0; v < region.input_count(); ++v)
      if (fixed[v] != none && left[v]) constant(v);
    for (std::size_t i = 0; i < region.eqns().size(); ++i)
      for (std::uint32_t r = 0; lifted[i] && r < region.eqns()[i].result_count; ++r)
        if (left[region.eqns()[i].first_result + r]) constant(region.eqns()[i].first_result + r);
    for (ValueId v = 0; v < region.input_count(); ++v)
      if (fixed[v] == none && kept[v]) values[v] = made.input(region.aval(v));
    for (std::size_t i = 0; i < region.eqns().size(); ++i)
      if (inside[i]) copy(made, region, region.eqns()[i], region.eqns()[i].params, values);
    result.graph = made.finish(mapped(region.outputs(), values));
    return result;
  }

  void add_loop(GraphBuilder& builder, const Graph& graph, const Eqn& e, const Flags& read,
                std::vector<ValueId>& values) {
    const Loop loop(e);
    // That a loop ends, within its bound and before it is cancelled, is a result too: one with no other
    // stays.
    bool changes = false;
    for (std::size_t r = 0; r < e.result_count; ++r)
      changes |= read[e.first_result + r] && (r >= loop.carries || !loop.unchanging(r));
    if (loop.cond && !changes) return copy(builder, graph, e, e.params, values);
    Flags outputs(e.result_count, 1);
    const auto operands = graph.operands(e);
    const std::size_t at = loop.first_carry();
    const auto operand = [&](std::size_t i) { return values[operands[i]]; };

    // Carries that never change are constants.
    std::vector<ValueId> body_fixed(loop.body.input_count(), none), carried;
    Flags body_kept(loop.body.input_count(), 1);
    for (std::size_t i = 0; i < loop.consts; ++i) body_fixed[i] = operand(loop.cond_consts + i);
    for (std::size_t c = 0; c < loop.carries; ++c) {
      if (loop.unchanging(c)) {
        body_fixed[loop.consts + c] = values[e.first_result + c] = operand(at + c);
        outputs[c] = body_kept[loop.consts + c] = 0;
      } else {
        carried.push_back(operand(at + c));
      }
    }
    const GraphRef simple = simplified(loop.body, outputs);
    Lifted body = lift(builder, *simple, body_fixed, body_kept);

    std::vector<ValueId> in;
    Params params;
    if (loop.cond) {
      std::vector<ValueId> fixed(loop.cond->input_count(), none);
      Flags kept(loop.cond->input_count(), 0);
      for (std::size_t i = 0; i < loop.cond_consts; ++i) fixed[i] = operand(i);
      for (std::size_t c = 0; c < loop.carries; ++c) {
        fixed[loop.cond_consts + c] = body_fixed[loop.consts + c];
        kept[loop.cond_consts + c] = body_kept[loop.consts + c];
      }
      Lifted cond = lift(builder, *simplified(*loop.cond, {1}), fixed, kept);
      WhileParams p = e.params.as<WhileParams>();
      p.cond = cond.graph;
      p.body = body.graph;
      p.cond_consts = static_cast<std::int64_t>(cond.constants.size());
      p.body_consts = static_cast<std::int64_t>(body.constants.size());
      p.carries = static_cast<std::int64_t>(carried.size());
      params = make_params(p);
      in = cond.constants;
    } else {
      ScanParams p = e.params.as<ScanParams>();
      p.body = body.graph;
      p.consts = static_cast<std::int64_t>(body.constants.size());
      p.carries = static_cast<std::int64_t>(carried.size());
      params = make_params(p);
    }
    in.insert(in.end(), body.constants.begin(), body.constants.end());
    in.insert(in.end(), carried.begin(), carried.end());
    for (std::size_t x = 0; x < loop.xs; ++x) in.push_back(operand(at + loop.carries + x));
    std::vector<ValueId> made(body.graph->outputs().size());
    builder.append(*e.op, params, in, made, e.loc);
    for (std::size_t r = 0, next = 0; r < outputs.size(); ++r)
      if (outputs[r]) values[e.first_result + r] = made[next++];
  }

  static constexpr ValueId none = 0xffffffffu;
};

}  // namespace

GraphRef simplify_loops(const Graph& graph) {
  if (!has_loop(graph)) return GraphRef(&graph);
  return Simplifier().simplified(*without_dead_carries(graph), Flags(graph.outputs().size(), 1));
}

}  // namespace apsis::detail
