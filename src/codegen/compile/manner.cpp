#include "codegen/compile/manner.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

// What is called from many places is looked at once.
using Seen = std::unordered_set<const Graph*>;

/// Whether a call may take so long that better code is worth several times the time to compile: loops of
/// unknown or declared length, arrays that are large.
bool long_running(const Graph& graph, Seen& seen) {
  constexpr double large = 1 << 15;  // elements
  for (const Eqn& e : graph.eqns()) {
    if (e.op->kind == OpKind::While || e.op->kind == OpKind::Scan || e.op->kind == OpKind::MapLanes)
      return true;
    bool inside = false;
    each_region(e.params, [&](const Graph& region) {
      inside = inside || (seen.insert(&region).second && long_running(region, seen));
    });
    if (inside) return true;
    double work = 0, sizes = 1;
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      work += static_cast<double>(graph.aval(e.first_result + r).size());
    for (ValueId v : graph.operands(e)) sizes *= static_cast<double>(graph.aval(v).size());
    // The inner loops of contractions and reductions carry sums, which the fast level keeps in memory; a
    // program with a contraction is likely to be called often. Of a product of matrices, the sizes m k, k n
    // and m n multiply to the square of its multiply-adds.
    if (e.op->kind == OpKind::Contract) work = 16 * std::sqrt(sizes * work);
    if (e.op->kind == OpKind::Reduce) work = 4 * sizes;
    // Each operand is copied by code of its own, which for a few elements is no loop.
    if (e.op->joins && work < 64 * static_cast<double>(e.operand_count)) work = 0;
    if (work >= large && e.op->kind != OpKind::View) return true;
  }
  return false;
}

Level level_of(const Graph& graph, const CodegenOptions& options) {
  if (options.level >= 0) return static_cast<Level>(options.level);
  Seen seen;
  return long_running(graph, seen) ? Level::Less : Level::None;
}

/// How often a program has each op that takes many instructions.
using Counts = std::unordered_map<const Op*, std::int64_t>;

const Counts& count_costly(const Graph& graph, std::unordered_map<const Graph*, Counts>& of_graphs) {
  constexpr std::int64_t costly = 16;
  const auto [known, fresh] = of_graphs.try_emplace(&graph);
  Counts& counts = known->second;
  if (!fresh) return counts;
  for (const Eqn& e : graph.eqns()) {
    each_region(e.params, [&](const Graph& region) {
      for (const auto& [op, count] : count_costly(region, of_graphs)) counts[op] += count;
    });
    if (e.result_count > 0 && fusible(graph, e) && emission_cost(graph, e) >= costly) ++counts[e.op];
  }
  return counts;
}

/// A program that is compiled fast calls the library's elementary functions, and gets one copy of each other
/// one that it repeats often.
BuilderOptions builder_options(const Graph& graph, const CodegenOptions& options, Level level) {
  constexpr int often = 4;
  BuilderOptions result{.isa = options.isa};
  if (level != Level::None) return result;
  result.carries_multiples = false;
  result.inline_library_uses = 0;
  std::unordered_map<const Graph*, Counts> of_graphs;
  const Counts& counts = count_costly(graph, of_graphs);
  if (std::ranges::any_of(counts, [](const auto& c) { return c.second > often; })) result.inline_uses = 0;
  return result;
}

/// Elements that would be computed one by one if arrays up to `limit` elements lived in registers.
std::int64_t unrolled_elements(const Graph& graph, std::int64_t limit,
                               std::unordered_map<const Graph*, std::int64_t>& of_graphs) {
  if (const auto known = of_graphs.find(&graph); known != of_graphs.end()) return known->second;
  std::int64_t count = 0;
  for (const Eqn& e : graph.eqns()) {
    each_region(e.params, [&](const Graph& region) { count += unrolled_elements(region, limit, of_graphs); });
    if (e.op->kind == OpKind::View || e.op->kind == OpKind::Constant) continue;
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (in_registers(graph.aval(e.first_result + r), limit)) count += graph.aval(e.first_result + r).size();
  }
  return of_graphs[&graph] = count;
}

LoweringOptions lowering_options(const Graph& graph, const CodegenOptions& options, Level level) {
  constexpr std::int64_t longest_unrolled = 50000;
  LoweringOptions lowering;
  // A program so long that unrolling it would take long to compile keeps all but its smallest arrays in
  // memory.
  std::unordered_map<const Graph*, std::int64_t> of_graphs;
  if (unrolled_elements(graph, lowering.register_limit, of_graphs) > longest_unrolled)
    lowering.register_limit = 4;
  lowering.optimized = level != Level::None;
  if (lowering.optimized)
    lowering.longest_part = 800;  // LLVM's scheduler then compares every two accesses to memory in a block
  else
    lowering.many_loops = 3;
  lowering.vector_lanes = options.lanes;
  lowering.parallel = options.parallel;
  lowering.all_calls = options.all_calls;
  if (options.part > 0) lowering.longest_repeated = lowering.longest_part = options.part;
  return lowering;
}

}  // namespace

Manner manner_of(const Graph& graph, const CodegenOptions& options) {
  const Level level = level_of(graph, options);
  return {level, builder_options(graph, options, level), lowering_options(graph, options, level)};
}

}  // namespace apsis::detail
