#include "passes/analysis/updates.hpp"

#include <algorithm>

#include "ir/loop.hpp"
#include "ir/view.hpp"
#include "ops/index_params.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
std::int64_t updated_operand(const Eqn& eqn, std::uint32_t result) {
  if (eqn.op == &dynamic_update_slice_op || eqn.op == &scatter_op) return 0;
  if (is_loop(eqn)) {
    const Loop loop(eqn);
    return result < loop.carries ? static_cast<std::int64_t>(loop.first_carry() + result) : -1;
  }
  const auto updated_input = [&](const Graph& region) -> std::int64_t {
    for (ValueId input = 0; input < region.input_count(); ++input)
      if (carry_use(region, input, region.outputs()[result]) != CarryUse::Replaced) return input;
    return -1;
  };
  if (eqn.op->kind == OpKind::Call) return updated_input(*eqn.params.as<CallParams>().region);
  if (eqn.op->kind == OpKind::Cond)
    for (const GraphRef& branch : eqn.params.as<CondParams>().branches)
      if (const std::int64_t input = updated_input(*branch); input >= 0) return input + 1;
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
  // A call, or a branch, with its operand what all its regions do with their input; one result is the array
  // in each of them.
  const auto sliced_by_branches = [&](const Eqn& e, std::size_t k) {
    const bool is_call = e.op->kind == OpKind::Call;
    if (k == 0 && !is_call) return false;
    const std::vector<GraphRef> branches =
        is_call ? std::vector{e.params.as<CallParams>().region} : e.params.as<CondParams>().branches;
    const auto in_branch = static_cast<ValueId>(is_call ? k : k - 1);
    std::int64_t result = -1;
    for (std::uint32_t r = 0; r < e.result_count; ++r)
      if (carry_use(*branches[0], in_branch, branches[0]->outputs()[r]) != CarryUse::Replaced) result = r;
    if (result >= 0) is_array[e.first_result + static_cast<std::size_t>(result)] = 1;
    return std::ranges::all_of(branches, [&](const GraphRef& branch) {
      return only_sliced(*branch, in_branch, result, register_limit) &&
             (result < 0 ||
              carry_use(*branch, in_branch, branch->outputs()[static_cast<std::size_t>(result)]) !=
                  CarryUse::Replaced);
    });
  };
  for (const Eqn& e : graph.eqns()) {
    const auto operands = graph.operands(e);
    const bool updates = e.op == &dynamic_update_slice_op;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (!is_array[operands[k]]) continue;
      if (is_loop(e)) {
        if (!sliced_by_loop(e, k)) return false;
        continue;
      }
      if (e.op->kind == OpKind::Cond || e.op->kind == OpKind::Call) {
        if (!sliced_by_branches(e, k)) return false;
        continue;
      }
      if ((!updates && e.op != &dynamic_slice_op) || k > 0) return false;
      const Aval& slice = graph.aval(updates ? operands[1] : e.first_result);
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
