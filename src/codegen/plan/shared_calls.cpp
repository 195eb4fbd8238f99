#include "codegen/plan/shared_calls.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "apsis/base/error.hpp"
#include "ir/regions.hpp"
#include "passes/analysis/call_cost.hpp"
#include "passes/analysis/repeated_number.hpp"

namespace apsis::detail {
namespace {

/// Keeps the marks of those values that are so there, too.
template <class IsSo>
void keep(std::vector<char>& marks, std::span<const ValueId> values, const IsSo& is_so) {
  for (std::size_t i = 0; i < marks.size(); ++i) marks[i] = static_cast<char>(marks[i] && is_so(values[i]));
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
  const std::vector<char> between = values_between_calls(graph);
  for (const Eqn& e : graph.eqns()) {
    if (e.op->kind != OpKind::Call) {
      each_region(e.params, [&](const Graph& region) { count(region); });
      continue;
    }
    const GraphRef& function = e.params.as<CallParams>().region;
    std::vector<Called>& equal = called_[function->hash()];
    auto found = std::ranges::find(equal, function, &Called::function);
    const bool fresh = found == equal.end();
    if (fresh) {
      found = equal.insert(
          found, {.function = function,
                  .length = code_length(*function, register_limit_),
                  .can_be_called = can_be_called(*function),
                  .common = {std::vector<char>(e.operand_count, 1), std::vector<char>(e.operand_count, 1),
                             std::vector<char>(e.result_count, 1)}});
    }
    ++found->calls;
    std::vector<ValueId> results(e.result_count);
    std::iota(results.begin(), results.end(), e.first_result);
    keep(found->common.operands_between, graph.operands(e), [&](ValueId v) { return between[v] != 0; });
    keep(found->common.operands_numbers, graph.operands(e),
         [&](ValueId v) { return repeated_number(graph, v) != nullptr; });
    keep(found->common.results_between, results, [&](ValueId v) { return between[v] != 0; });
    // In place, it is written once more.
    if (fresh || !worth_it(*found)) count(*function);
  }
}

bool SharedCalls::worth_it(const Called& called) const {
  if (!called.can_be_called || all_) return called.can_be_called;
  std::int64_t passed = 0, staying = 0;
  const Graph& f = *called.function;
  const auto add = [&](ValueId v, bool between) {
    (between ? staying : passed) += passed_elements(f.aval(v), register_limit_);
  };
  for (ValueId v = 0; v < f.input_count(); ++v) add(v, called.common.operands_between[v] != 0);
  for (std::size_t r = 0; r < f.outputs().size(); ++r)
    add(f.outputs()[r], called.common.results_between[r] != 0);
  return worth_calling(called.length, passed, staying);
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
  return called && worth_it(*called) && (all_ || called->calls > 1);
}

const SharedCalls::Common& SharedCalls::common(const Graph& function) const {
  const Called* called = find(function);
  APSIS_ASSERT(called);
  return called->common;
}

}  // namespace apsis::detail
