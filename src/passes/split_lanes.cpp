#include "passes/split_lanes.hpp"

#include <algorithm>

#include "ir/copy.hpp"
#include "ir/loop.hpp"
#include "passes/analysis/lane_variance.hpp"
#include "passes/inline_calls.hpp"

namespace apsis::detail {
namespace {

bool is_list_loop(const Eqn& e) {
  if (!is_loop(e)) return false;
  const Loop loop(e);
  return loop.cond ? e.result_count > loop.carries : loop.length < 0;
}

/// Whether the lists that a loop reads are the region's inputs, one a lane, and those it makes nothing but
/// its outputs.
bool lists_cross(const Graph& region, const std::vector<char>& varying, const Eqn& loop) {
  const Loop parts(loop);
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
    const std::size_t length = Loop(e).body->eqns().size();
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

LaneSplit split_lanes(const Graph& region, std::span<const char> mapped_inputs, bool refill) {
  LaneSplit s;
  s.region = inline_calls(region);
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
    const Loop p(*s.loop);
    const auto operands = graph.operands(*s.loop);
    std::vector<ValueId> loaded;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const bool carried = k >= p.first_carry() && k < p.first_x();
      const bool changes = carried && !p.unchanging(k - p.first_carry());
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
  for (const GraphPart* part : {&s.before, &s.after})
    for (ValueId v : part->inputs) needed[v] = 1;
  for (ValueId v = graph.input_count(); v < graph.value_count(); ++v)
    if (needed[v] && !s.varying[v]) s.shared_values.push_back(v);
  s.shared = extract(graph, s.shared_values);
  return s;
}

}  // namespace apsis::detail
