#include "codegen/plan/shared_calls.hpp"

#include <algorithm>

#include "ir/regions.hpp"
#include "passes/analysis/call_cost.hpp"

namespace apsis::detail {
namespace {

/// Elements that go from function to function.
std::int64_t passed_elements(const Graph& graph, std::int64_t register_limit) {
  std::int64_t count = 0;
  const auto add = [&](ValueId v) { count += detail::passed_elements(graph.aval(v), register_limit); };
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
      const auto worth_it = [&] {
        return all_ || worth_calling(code_length(*function, register_limit_),
                                     passed_elements(*function, register_limit_));
      };
      equal.push_back({function, 1, can_be_called(*function) && worth_it()});
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
