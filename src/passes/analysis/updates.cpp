#include "passes/analysis/updates.hpp"

#include <algorithm>

#include "ir/region_flow.hpp"
#include "ir/view.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {

std::int64_t updated_operand(const Eqn& eqn, std::uint32_t result) {
  if (eqn.op->updates >= 0) return result == 0 ? eqn.op->updates : -1;
  for (const RegionFlow& flow : region_flows(eqn)) {
    if (flow.runs == Runs::Wrapped || flow.runs == Runs::ByLane) return -1;
    if (result < flow.carries) return static_cast<std::int64_t>(flow.operand_of(flow.consts + result));
    if (flow.runs == Runs::Repeatedly) return -1;
    for (ValueId input = 0; input < flow.region->input_count(); ++input)
      if (carry_use(*flow.region, input, flow.region->outputs()[result]) != CarryUse::Replaced)
        return static_cast<std::int64_t>(flow.operand_of(input));
  }
  return -1;
}

CarryUse carry_use(const Graph& body, ValueId input, ValueId output) {
  if (output == input) return CarryUse::Unchanged;
  for (ValueId v = output; const Eqn* e = body.definition(v);) {
    std::int64_t operand = updated_operand(*e, v - e->first_result);
    if (operand < 0) break;
    v = body.operands(*e)[static_cast<std::size_t>(operand)];
    if (v == input) return CarryUse::InPlace;
  }
  return CarryUse::Replaced;
}

bool only_sliced(const Graph& graph, ValueId input, std::int64_t output, std::int64_t register_limit) {
  std::vector<char> is_array(graph.value_count(), 0);
  is_array[input] = 1;
  const View whole = View::contiguous(graph.aval(input).shape());
  // A loop does with its operand k what its regions do.
  const auto sliced_by_loop = [&](const Eqn& e, std::size_t k) {
    const Loop loop(e);
    if (k >= loop.first_carry() && k < loop.first_x()) is_array[e.first_result + k - loop.first_carry()] = 1;
    return loop_only_slices(loop, k, register_limit);
  };
  // Another op with its operand what all its regions do with their input; one result is the array in each of
  // them.
  const auto sliced_by_regions = [&](const Eqn& e, const std::vector<RegionFlow>& flows, std::size_t k) {
    if (k < flows[0].first_operand) return false;
    const auto input = static_cast<ValueId>(k - flows[0].first_operand);
    const auto keeps = [&](const RegionFlow& flow, std::int64_t result) {
      return carry_use(*flow.region, input, flow.region->outputs()[static_cast<std::size_t>(result)]) !=
             CarryUse::Replaced;
    };
    std::int64_t result = -1;
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (keeps(flows[0], r)) result = r;
    if (result >= 0) is_array[e.first_result + static_cast<std::size_t>(result)] = 1;
    return std::ranges::all_of(flows, [&](const RegionFlow& flow) {
      return only_sliced(*flow.region, input, result, register_limit) && (result < 0 || keeps(flow, result));
    });
  };
  for (const Eqn& e : graph.eqns()) {
    const auto operands = graph.operands(e);
    const bool updates = e.op->updates >= 0;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (!is_array[operands[k]]) continue;
      if (is_loop(e)) {
        if (!sliced_by_loop(e, k)) return false;
        continue;
      }
      const std::vector<RegionFlow> flows = region_flows(e);
      if (!flows.empty() && (flows[0].runs == Runs::Chosen || flows[0].runs == Runs::Once)) {
        if (!sliced_by_regions(e, flows, k)) return false;
        continue;
      }
      if (e.op->starts < 0 || k > 0) return false;
      const Aval& slice =
          graph.aval(updates ? operands[static_cast<std::size_t>(e.op->written)] : e.first_result);
      if (!in_registers(slice, register_limit) && !View{slice.shape(), whole.strides, 0}.is_contiguous())
        return false;
      is_array[e.first_result] = updates;
    }
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    if (is_array[graph.outputs()[i]] && static_cast<std::int64_t>(i) != output) return false;
  return true;
}

bool loop_only_slices(const Loop& loop, std::size_t operand, std::int64_t register_limit) {
  const auto slices = [&](const Graph& region, std::size_t input, std::int64_t output) {
    return only_sliced(region, static_cast<ValueId>(input), output, register_limit);
  };
  if (operand < loop.cond_consts) return slices(*loop.cond, operand, -1);
  if (operand < loop.first_carry()) return slices(*loop.body, operand - loop.cond_consts, -1);
  if (operand >= loop.first_x()) return false;
  const std::size_t carry = operand - loop.first_carry();
  return carry_use(*loop.body, loop.in_body(carry), loop.body->outputs()[carry]) != CarryUse::Replaced &&
         slices(*loop.body, loop.in_body(carry), static_cast<std::int64_t>(carry)) &&
         (!loop.cond || slices(*loop.cond, loop.in_cond(carry), -1));
}

CarryUse loop_carry_use(const Eqn& eqn, std::uint32_t result) {
  if (!is_loop(eqn)) return CarryUse::InPlace;
  const Loop loop(eqn);
  return carry_use(*loop.body, loop.in_body(result), loop.body->outputs()[result]);
}

}  // namespace apsis::detail
