#include "codegen/analysis.hpp"

#include <algorithm>

#include "codegen/schedule.hpp"
#include "core/list.hpp"
#include "ir/loop.hpp"
#include "ir/regions.hpp"
#include "ir/view.hpp"
#include "ops/index_params.hpp"

namespace apsis::detail {
namespace {

bool any(std::span<const char> flags) {
  return std::ranges::any_of(flags, [](char f) { return f != 0; });
}

}  // namespace

bool is_read(const Graph& graph, ValueId value) {
  return std::ranges::any_of(graph.eqns(), [&](const Eqn& e) {
    const auto operands = graph.operands(e);
    return std::ranges::find(operands, value) != operands.end();
  });
}

std::int64_t updated_operand(const Eqn& eqn, std::uint32_t result) {
  if (eqn.op == &dynamic_update_slice_op || eqn.op == &scatter_op) return 0;
  if (eqn.op->kind == OpKind::While) {
    const auto& p = eqn.params.as<WhileParams>();
    return result < p.carries ? p.cond_consts + p.body_consts + result : -1;
  }
  if (eqn.op->kind == OpKind::Scan) {
    const auto& p = eqn.params.as<ScanParams>();
    return result < p.carries ? p.consts + result : -1;
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
    if (k < loop.cond_consts) return only_sliced(*loop.cond, static_cast<ValueId>(k), -1, register_limit);
    const auto in_body = static_cast<ValueId>(k - loop.cond_consts);
    if (k < loop.first_carry()) return only_sliced(loop.body, in_body, -1, register_limit);
    const std::size_t carry = k - loop.first_carry();
    if (carry >= loop.carries) return false;
    is_array[e.first_result + carry] = 1;
    return carry_use(loop.body, in_body, loop.body.outputs()[carry]) != CarryUse::Replaced &&
           only_sliced(loop.body, in_body, static_cast<std::int64_t>(carry), register_limit) &&
           (!loop.cond ||
            only_sliced(*loop.cond, static_cast<ValueId>(loop.cond_consts + carry), -1, register_limit));
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

CarryUse loop_carry_use(const Eqn& eqn, std::uint32_t result) {
  const bool is_while = eqn.op->kind == OpKind::While;
  if (!is_while && eqn.op->kind != OpKind::Scan) return CarryUse::InPlace;
  const Graph& body = is_while ? *eqn.params.as<WhileParams>().body : *eqn.params.as<ScanParams>().body;
  const std::int64_t consts =
      is_while ? eqn.params.as<WhileParams>().body_consts : eqn.params.as<ScanParams>().consts;
  return carry_use(body, static_cast<ValueId>(consts) + result, body.outputs()[result]);
}

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

namespace {

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

}  // namespace

std::vector<char> varying_results(const Graph& graph, const Eqn& e, std::span<const char> operands) {
  switch (e.op->kind) {
    case OpKind::Call:
      return varying_outputs(*e.params.as<CallParams>().region, operands);
    case OpKind::Cond: {
      std::vector<char> results(e.result_count, operands[0]);
      for (const GraphRef& branch : e.params.as<CondParams>().branches) {
        std::vector<char> found = varying_outputs(*branch, operands.subspan(1));
        for (std::size_t r = 0; r < results.size(); ++r) results[r] |= found[r];
      }
      return results;
    }
    case OpKind::While:
    case OpKind::Scan: {
      bool condition = false;
      std::vector<char> carries = varying_carries(e, operands, condition);
      bool is_while = e.op->kind == OpKind::While;
      const Graph& body = is_while ? *e.params.as<WhileParams>().body : *e.params.as<ScanParams>().body;
      std::size_t first = is_while ? static_cast<std::size_t>(e.params.as<WhileParams>().cond_consts) : 0;
      std::vector<char> in(operands.begin() + static_cast<std::ptrdiff_t>(first), operands.end());
      std::size_t consts = static_cast<std::size_t>(is_while ? e.params.as<WhileParams>().body_consts
                                                             : e.params.as<ScanParams>().consts);
      std::copy(carries.begin(), carries.end(), in.begin() + static_cast<std::ptrdiff_t>(consts));
      std::vector<char> results = varying_outputs(body, in);
      std::copy(carries.begin(), carries.end(), results.begin());
      if (condition)
        std::fill(results.begin() + static_cast<std::ptrdiff_t>(carries.size()), results.end(), 1);
      widen_lists(graph, e, results);
      return results;
    }
    // What an effect gives, a callback's result, may be another in each lane.
    default:
      return std::vector<char>(e.result_count, static_cast<char>(any(operands) || e.op->effect));
  }
}

std::vector<char> varying_carries(const Eqn& e, std::span<const char> operands, bool& condition) {
  bool is_while = e.op->kind == OpKind::While;
  const WhileParams* loop = is_while ? &e.params.as<WhileParams>() : nullptr;
  const ScanParams* scan = is_while ? nullptr : &e.params.as<ScanParams>();
  auto cond_consts = static_cast<std::size_t>(is_while ? loop->cond_consts : 0);
  auto consts = static_cast<std::size_t>(is_while ? loop->body_consts : scan->consts);
  auto count = static_cast<std::size_t>(is_while ? loop->carries : scan->carries);
  const Graph& body = is_while ? *loop->body : *scan->body;
  std::vector<char> in(operands.begin() + static_cast<std::ptrdiff_t>(cond_consts), operands.end());
  std::vector<char> cond_in(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(cond_consts));
  cond_in.resize(cond_consts + count);
  // Lists that lanes have of their own may differ in length.
  condition = scan && scan->length < 0 && any(operands.subspan(consts + count));
  for (bool settled = false; !settled;) {
    settled = true;
    if (is_while && !condition) {
      std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(consts), count,
                  cond_in.begin() + static_cast<std::ptrdiff_t>(cond_consts));
      condition = varying_outputs(*loop->cond, cond_in)[0] != 0;
    }
    std::vector<char> out = varying_outputs(body, in);
    for (std::size_t c = 0; c < count; ++c) {
      bool changes = body.outputs()[c] != consts + c;
      if (!in[consts + c] && (out[c] || (condition && changes))) {
        in[consts + c] = 1;
        settled = false;
      }
    }
  }
  return {in.begin() + static_cast<std::ptrdiff_t>(consts),
          in.begin() + static_cast<std::ptrdiff_t>(consts + count)};
}

}  // namespace apsis::detail
