#include "codegen/lane_split.hpp"

#include <algorithm>

#include "codegen/analysis.hpp"
#include "codegen/inline_calls.hpp"

namespace apsis::detail {
namespace {

/// The graph that computes `outputs` from values that are given, those marked in `given` and the region's
/// inputs, and has the effects of the equations `effects`.
LanePart extract(const Graph& graph, std::span<const ValueId> outputs, const std::vector<char>& given,
                 std::span<const Eqn> effects = {}) {
  std::vector<char> wanted(graph.value_count(), 0);
  for (ValueId v : outputs) wanted[v] = 1;
  const auto stops = [&](ValueId v) { return v < graph.input_count() || given[v]; };
  const auto runs = [&](const Eqn& e) {
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (wanted[e.first_result + r] && !stops(e.first_result + r)) return true;
    const bool among = !effects.empty() && &e >= &effects.front() && &e <= &effects.back();
    return among && has_effect(*e.op, e.params);
  };
  const auto eqns = graph.eqns();
  for (auto e = eqns.rbegin(); e != eqns.rend(); ++e)
    if (runs(*e))
      for (ValueId v : graph.operands(*e)) wanted[v] = 1;

  GraphBuilder builder;
  std::vector<ValueId> values(graph.value_count()), operands, results;
  std::vector<ValueId> origin;  // of the builder's inputs
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (wanted[v] && stops(v)) {
      values[v] = builder.input(graph.aval(v));
      origin.push_back(v);
    }
  for (const Eqn& e : eqns) {
    if (!runs(e)) continue;
    operands.clear();
    for (ValueId v : graph.operands(e)) operands.push_back(values[v]);
    results.assign(e.result_count, 0);
    builder.append(*e.op, e.params, operands, results, e.loc);
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (!stops(e.first_result + r)) values[e.first_result + r] = results[r];
  }
  std::vector<ValueId> made;
  for (ValueId v : outputs) made.push_back(values[v]);
  return {builder.finish(made), std::move(origin)};
}

bool is_list_loop(const Eqn& e) {
  if (e.op->kind == OpKind::While)
    return static_cast<std::int64_t>(e.result_count) > e.params.as<WhileParams>().carries;
  return e.op->kind == OpKind::Scan && e.params.as<ScanParams>().length < 0;
}

/// Whether the lists that a loop reads are the region's inputs, one a lane, and those it makes nothing but
/// its outputs.
bool lists_cross(const Graph& region, const std::vector<char>& varying, const Eqn& loop) {
  const LoopParts parts(loop);
  const auto operands = region.operands(loop);
  for (std::size_t k = parts.first_x(); k < operands.size(); ++k)
    if (operands[k] >= region.input_count() || !varying[operands[k]]) return false;
  const auto is_result = [&](ValueId v) {
    return v - loop.first_result < loop.result_count && region.aval(v).is_list();
  };
  for (const Eqn& e : region.eqns())
    if (std::ranges::any_of(region.operands(e), is_result)) return false;
  for (std::size_t r = parts.carries; r < loop.result_count; ++r)
    if (std::ranges::find(region.outputs(), loop.first_result + r) == region.outputs().end()) return false;
  return true;
}

/// The loop whose lanes are worth replacing: one whose lists come from other lane programs or go there, else
/// the one of the longest body among the loops that lanes leave after different numbers of trips. Null if
/// there is none: a loop whose lists stay in the region runs for a packet at a time.
const Eqn* find_loop(const Graph& region, const std::vector<char>& varying) {
  const Eqn* found = nullptr;
  std::size_t longest = 0;
  for (const Eqn& e : region.eqns()) {
    const bool lists = is_list_loop(e);
    if (e.op->kind != OpKind::While && !lists) continue;
    if (lists && !lists_cross(region, varying, e)) continue;
    if (!lists) {
      std::vector<char> operands;
      for (ValueId v : region.operands(e)) operands.push_back(varying[v]);
      bool apart = false;
      varying_carries(e, operands, apart);
      if (!apart) continue;
    }
    if (lists) return &e;
    const std::size_t length = LoopParts(e).body->eqns().size();
    if (length < longest) continue;
    longest = length;
    found = &e;
  }
  return found;
}

/// Whether all lists of lanes at the region's border are the loop's.
bool lists_fit(const Graph& region, const std::vector<char>& varying, const Eqn* loop) {
  const auto is_list = [&](ValueId v) { return region.aval(v).is_list(); };
  for (ValueId v = 0; v < region.input_count(); ++v) {
    if (!is_list(v) || !varying[v]) continue;
    for (const Eqn& e : region.eqns())
      if (&e != loop && std::ranges::find(region.operands(e), v) != region.operands(e).end()) return false;
    if (std::ranges::find(region.outputs(), v) != region.outputs().end()) return false;
  }
  return std::ranges::all_of(region.outputs(), [&](ValueId v) {
    return !is_list(v) || (loop && v - loop->first_result < loop->result_count);
  });
}

}  // namespace

LoopParts::LoopParts(const Eqn& loop) {
  if (loop.op->kind == OpKind::While) {
    const auto& p = loop.params.as<WhileParams>();
    cond = p.cond.get();
    body = p.body.get();
    cond_consts = static_cast<std::size_t>(p.cond_consts);
    consts = static_cast<std::size_t>(p.body_consts);
    carries = static_cast<std::size_t>(p.carries);
    max_steps = p.max_steps;
    site = p.site;
    reverse = false;
  } else {
    const auto& p = loop.params.as<ScanParams>();
    cond = nullptr;
    body = p.body.get();
    cond_consts = 0;
    consts = static_cast<std::size_t>(p.consts);
    carries = static_cast<std::size_t>(p.carries);
    max_steps = site = -1;
    reverse = p.reverse;
  }
}

LaneSplit split_lanes(const Graph& region, std::span<const char> mapped_inputs, bool refill) {
  LaneSplit s;
  s.region = with_calls_inlined(region);
  const Graph& graph = *s.region;
  s.varying.assign(graph.value_count(), 0);
  std::copy(mapped_inputs.begin(), mapped_inputs.end(), s.varying.begin());
  for (const Eqn& e : graph.eqns()) {
    const bool of_lanes =
        has_effect(*e.op, e.params) ||
        std::ranges::any_of(graph.operands(e), [&](ValueId v) { return s.varying[v] != 0; });
    std::fill_n(s.varying.begin() + e.first_result, e.result_count, static_cast<char>(of_lanes));
  }
  if (refill) {
    s.loop = find_loop(graph, s.varying);
    s.lists_fit = lists_fit(graph, s.varying, s.loop);
  }
  const auto loop_at = static_cast<std::size_t>(s.loop ? s.loop - graph.eqns().data() : 0);

  // Literals are cheaper to write again than to hold in registers.
  std::vector<char> given(graph.value_count(), 0);
  for (ValueId v = graph.input_count(); v < graph.value_count(); ++v)
    given[v] = !s.varying[v] && graph.definition(v)->op->kind != OpKind::Constant;
  std::vector<char> needed(graph.value_count(), 0);
  if (s.loop) {
    const LoopParts p(*s.loop);
    const auto operands = graph.operands(*s.loop);
    std::vector<ValueId> loaded;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const bool carried = k >= p.first_carry() && k < p.first_x();
      const bool changes =
          carried && p.body->outputs()[k - p.first_carry()] != static_cast<ValueId>(k - p.cond_consts);
      const bool entries = k >= p.first_x();
      s.slots.push_back(!entries && (changes || s.varying[operands[k]]));
      if (s.slots[k])
        loaded.push_back(operands[k]);
      else if (!entries)
        needed[operands[k]] = 1;
    }
    s.before = extract(graph, loaded, given, graph.eqns().first(loop_at));
    for (std::uint32_t r = 0; r < s.loop->result_count; ++r) given[s.loop->first_result + r] = 1;
  }
  // Each effect happens once: before the loop, in it, or after it.
  s.after = extract(graph, graph.outputs(), given, graph.eqns().subspan(s.loop ? loop_at + 1 : 0));
  for (const LanePart* part : {&s.before, &s.after})
    for (ValueId v : part->inputs) needed[v] = 1;
  for (ValueId v = graph.input_count(); v < graph.value_count(); ++v)
    if (needed[v] && !s.varying[v]) s.shared_values.push_back(v);
  s.shared = extract(graph, s.shared_values, std::vector<char>(graph.value_count(), 0));
  return s;
}

}  // namespace apsis::detail
