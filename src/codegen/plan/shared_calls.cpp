#include "codegen/plan/shared_calls.hpp"

#include <algorithm>

#include "ir/regions.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

// A call stores and loads its results, and what the caller holds in registers: some twenty instructions, and
// about four for each element that is passed. Measured: docs/design/functions.md.
constexpr std::int64_t shortest = 120, passing = 16;

/// About how many instructions the code of a graph has.
std::int64_t code_length(const Graph& graph, std::int64_t register_limit) {
  constexpr std::int64_t of_loop = 12, of_other = 40;
  std::int64_t length = 0;
  for (const Eqn& e : graph.eqns()) {
    each_region(e.params, [&](const Graph& region) { length += code_length(region, register_limit); });
    if (e.op->kind == OpKind::View || e.op->kind == OpKind::Constant || e.result_count == 0) continue;
    const Aval& aval = graph.aval(e.first_result);
    const bool one_by_one = in_registers(aval, register_limit);
    if (fusible(graph, e))
      length += emission_cost(graph, e) * (one_by_one ? aval.size() : 1) + (one_by_one ? 0 : of_loop);
    else
      length += of_other;
  }
  return length;
}

/// Elements that go from function to function in registers.
std::int64_t passed_elements(const Graph& graph, std::int64_t register_limit) {
  std::int64_t count = 0;
  const auto add = [&](ValueId v) {
    count += in_registers(graph.aval(v), register_limit) ? graph.aval(v).size() : 1;
  };
  for (ValueId v = 0; v < graph.input_count(); ++v) add(v);
  std::ranges::for_each(graph.outputs(), add);
  return count;
}

/// Whether the function can be called: it has no effect, which belongs to a place of the program, neither
/// takes nor gives lists, and updates none of its inputs, whose memory would not be its own.
bool can_be_called(const Graph& graph) {
  if (graph.has_effect()) return false;
  for (ValueId v = 0; v < graph.input_count(); ++v)
    if (graph.aval(v).is_list()) return false;
  for (ValueId v : graph.outputs())
    if (graph.aval(v).is_list()) return false;
  return std::ranges::none_of(graph.eqns(), [](const Eqn& e) { return e.op->updates >= 0; });
}

}  // namespace

SharedCalls::SharedCalls(const Graph& program, std::int64_t register_limit, bool all)
    : register_limit_(register_limit), all_(all) {
  count(program);
}

void SharedCalls::count(const Graph& graph) {
  for (const Eqn& e : graph.eqns()) {
    if (e.op->kind != OpKind::Call) {
      each_region(e.params, [&](const Graph& region) { count(region); });
      continue;
    }
    const GraphRef& function = e.params.as<CallParams>().region;
    std::vector<Called>& equal = called_[function->hash()];
    auto found = std::ranges::find(equal, function, &Called::function);
    if (found == equal.end()) {
      const std::int64_t least = std::max(shortest, passing * passed_elements(*function, register_limit_));
      const bool worth_it =
          can_be_called(*function) && (all_ || code_length(*function, register_limit_) >= least);
      equal.push_back({function, 1, worth_it});
      count(*function);
      continue;
    }
    ++found->calls;
    // Written once more.
    if (!found->worth_it) count(*function);
  }
}

const SharedCalls::Called* SharedCalls::find(const Graph& function) const {
  const auto equal = called_.find(function.hash());
  if (equal == called_.end()) return nullptr;
  for (const Called& c : equal->second)
    if (c.function.get() == &function || c.function->same_as(function)) return &c;
  return nullptr;
}

bool SharedCalls::contains(const Graph& function) const {
  const Called* called = find(function);
  return called && called->worth_it && (all_ || called->calls > 1);
}

}  // namespace apsis::detail
