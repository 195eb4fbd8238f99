#include "passes/analysis/lane_variance.hpp"

#include <algorithm>

#include "core/list.hpp"
#include "ir/region_flow.hpp"

namespace apsis::detail {
namespace {

bool any(std::span<const char> flags) {
  return std::ranges::any_of(flags, [](char f) { return f != 0; });
}

/// What a loop's body is given of its operands, before any iteration.
std::vector<char> of_body(const Loop& loop, std::span<const char> operands) {
  return {operands.begin() + static_cast<std::ptrdiff_t>(loop.cond_consts), operands.end()};
}

/// Whether the lists that a loop makes are entries of others, or have such entries. In a packet they then
/// have room for all lanes, as the lists around them do.
bool lists_nest(const Graph& graph, const Eqn& e) {
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const Aval& aval = graph.aval(e.first_result + r);
    if (list_depth(aval.list()) > 1) return true;
    if (aval.is_list() && std::ranges::find(graph.outputs(), e.first_result + r) != graph.outputs().end())
      return true;
  }
  return false;
}

/// The lists of a loop are in the same records: where one differs from lane to lane all have room for all
/// lanes, and what is read from them counts as different.
void widen_lists(const Graph& graph, const Eqn& e, std::span<char> varying) {
  bool wide = lists_nest(graph, e);
  for (int pass = 0; pass < 2; ++pass)
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      if (!graph.aval(e.first_result + r).is_list()) continue;
      wide = wide || varying[r];
      varying[r] = wide;
    }
}

std::vector<char> varying_loop_results(const Graph& graph, const Eqn& e, std::span<const char> operands) {
  const Loop loop(e);
  bool condition = false;
  const std::vector<char> carries = varying_carries(e, operands, condition);
  std::vector<char> in = of_body(loop, operands);
  std::ranges::copy(carries, in.begin() + static_cast<std::ptrdiff_t>(loop.consts));
  std::vector<char> results = varying_outputs(*loop.body, in);
  std::ranges::copy(carries, results.begin());
  if (condition) std::fill(results.begin() + static_cast<std::ptrdiff_t>(loop.carries), results.end(), 1);
  widen_lists(graph, e, results);
  return results;
}

}  // namespace

std::vector<char> varying_outputs(const Graph& graph, std::span<const char> inputs) {
  std::vector<char> values(graph.value_count(), 0), operands;
  std::copy(inputs.begin(), inputs.end(), values.begin());
  for (const Eqn& e : graph.eqns()) {
    operands.clear();
    for (ValueId v : graph.operands(e)) operands.push_back(values[v]);
    std::vector<char> results = varying_results(graph, e, operands);
    std::copy(results.begin(), results.end(), values.begin() + e.first_result);
  }
  std::vector<char> outputs;
  for (ValueId v : graph.outputs()) outputs.push_back(values[v]);
  return outputs;
}

std::vector<char> varying_results(const Graph& graph, const Eqn& e, std::span<const char> operands) {
  const std::vector<RegionFlow> flows = region_flows(e);
  const Runs runs = flows.empty() ? Runs::Wrapped : flows[0].runs;
  switch (runs) {
    case Runs::Repeatedly:
      return varying_loop_results(graph, e, operands);
    case Runs::Once:
    case Runs::Chosen: {
      std::vector<char> results(e.result_count, runs == Runs::Chosen ? operands[0] : char{0});
      for (const RegionFlow& flow : flows) {
        const std::vector<char> found =
            varying_outputs(*flow.region, operands.subspan(flow.first_operand, flow.consts));
        for (std::size_t r = 0; r < results.size(); ++r) results[r] |= found[r];
      }
      return results;
    }
    // What an effect gives, a callback's result, may be another in each lane.
    default:
      return std::vector<char>(e.result_count, static_cast<char>(any(operands) || e.op->effect));
  }
}

std::vector<char> varying_carries(const Eqn& e, std::span<const char> operands, bool& condition) {
  const Loop loop(e);
  std::vector<char> in = of_body(loop, operands);
  const std::span<char> carries = std::span(in).subspan(loop.consts, loop.carries);
  std::vector<char> cond_in(operands.begin(),
                            operands.begin() + static_cast<std::ptrdiff_t>(loop.cond_consts));
  cond_in.resize(loop.cond_consts + loop.carries);
  // Lists that lanes have of their own may differ in length.
  condition = !loop.cond && loop.length < 0 && any(operands.subspan(loop.first_x()));
  for (bool settled = false; !settled;) {
    settled = true;
    if (loop.cond && !condition) {
      std::ranges::copy(carries, cond_in.begin() + static_cast<std::ptrdiff_t>(loop.cond_consts));
      condition = varying_outputs(*loop.cond, cond_in)[0] != 0;
    }
    const std::vector<char> out = varying_outputs(*loop.body, in);
    for (std::size_t c = 0; c < loop.carries; ++c)
      if (!carries[c] && (out[c] || (condition && !loop.unchanging(c)))) {
        carries[c] = 1;
        settled = false;
      }
  }
  return {carries.begin(), carries.end()};
}

}  // namespace apsis::detail
