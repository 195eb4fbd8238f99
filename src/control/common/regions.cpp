#include "control/common/regions.hpp"

#include <cstring>
#include <utility>

#include "control/common/messages.hpp"
#include "core/list.hpp"
#include "ops/lax.hpp"
#include "transform/batch/batch.hpp"

namespace apsis::detail {

std::vector<Aval> input_avals(const Graph& graph) {
  std::vector<Aval> avals;
  for (ValueId v = 0; v < graph.input_count(); ++v) avals.push_back(graph.aval(v));
  return avals;
}

std::vector<Aval> output_avals(const Graph& graph) {
  std::vector<Aval> avals;
  for (ValueId v : graph.outputs()) avals.push_back(graph.aval(v));
  return avals;
}

void check_region_operands(const char* op, const Graph& region, std::span<const Aval> operands) {
  if (operands.size() != region.input_count())
    fail(messages::region_operands,
         {op, std::to_string(region.input_count()), std::to_string(operands.size())});
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Aval& want = region.aval(static_cast<ValueId>(i));
    if (want.dtype() != operands[i].dtype() || want.shape() != operands[i].shape() ||
        want.list() != operands[i].list())
      fail(messages::region_operand_aval, {op, std::to_string(i), to_string(want), to_string(operands[i])});
  }
}

std::vector<bool> mask_or(const std::vector<bool>& a, const std::vector<bool>& b) {
  std::vector<bool> out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] || b[i];
  return out;
}

std::vector<bool> negated(std::vector<bool> mask) {
  mask.flip();
  return mask;
}

std::vector<bool> not_empty(std::span<const Array> arrays) {
  std::vector<bool> out;
  for (const Array& a : arrays) out.push_back(!a.is_empty());
  return out;
}

std::vector<Array> marked(std::span<const Array> arrays, const std::vector<bool>& mask) {
  std::vector<Array> out;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (mask[i]) out.push_back(arrays[i]);
  return out;
}

std::size_t count(const std::vector<bool>& mask) {
  std::size_t n = 0;
  for (bool b : mask) n += b;
  return n;
}

void append(std::vector<Array>& to, std::span<const Array> more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::vector<Array> instantiate(std::span<const Array> primals, std::span<const Array> tangents,
                               const std::vector<bool>& mask) {
  std::vector<Array> out(tangents.begin(), tangents.end());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (mask[i] && out[i].is_empty()) out[i] = lax::full_like(primals[i].aval(), 0);
  return out;
}

std::vector<bool> linear_operands(const TransposeRule& r) {
  std::vector<bool> out;
  for (const Accumulator& operand : r.out) out.push_back(operand.is_linear());
  return out;
}

Array take_sum(Accumulator& operand) {
  return operand.has_sum() ? operand.take_sum() : lax::full_like(operand.aval(), 0);
}

std::vector<Array> take_sums(const TransposeRule& r, std::size_t first, std::vector<bool>& mask) {
  std::vector<Array> sums;
  mask.clear();
  for (Accumulator& operand : r.out.subspan(first)) {
    if (!operand.is_linear()) continue;
    mask.push_back(operand.has_sum());
    if (mask.back()) sums.push_back(operand.take_sum());
  }
  return sums;
}

Conditions::Conditions(const TransposeRule& r, bool same_axes) {
  given.of_outputs.resize(r.given.size());
  std::vector<Dims> axes;
  for (std::size_t i = 0; i < r.given.size(); ++i) {
    const AxesCondition& one = r.given[i];
    if (one.holds.is_empty()) continue;
    std::size_t k = 0;
    while (k < arrays.size() && (arrays[k].node() != one.holds.node() || (same_axes && axes[k] != one.axes)))
      ++k;
    given.of_outputs[i] = {static_cast<int>(k), one.axes};
    if (k < arrays.size()) continue;
    arrays.push_back(one.holds);
    given.avals.push_back(one.holds.aval());
    axes.push_back(one.axes);
  }
}

void share_values(const Graph& region, std::span<const Array> operands, std::span<Array> results) {
  const auto outputs = region.outputs();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (outputs[i] < operands.size()) results[i] = operands[outputs[i]];
    for (std::size_t before = 0; before < i; ++before)
      if (outputs[before] == outputs[i]) results[i] = results[before];
  }
}

void take_cotangents(const TransposeRule& r, std::size_t first, std::span<const Array> found,
                     const std::vector<bool>& mask) {
  const std::size_t linear = mask.size() / 2;
  std::size_t cotangent = 0, condition = 0, k = 0;
  for (std::size_t i = 0; i < linear; ++i) condition += mask[i];
  for (Accumulator& operand : r.out.subspan(first)) {
    if (!operand.is_linear()) continue;
    const Array holds = mask[linear + k] ? found[condition++] : Array();
    if (mask[k++]) operand.add_if(found[cotangent++], AxesCondition::for_first_axes(holds));
  }
}

void take_jets(std::span<const Array> results, const std::vector<bool>& mask, const JetRule& r) {
  std::size_t next = r.outs.size();
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    r.outs[i] = results[i];
    for (std::size_t k = 0; mask[i] && k < r.order; ++k) r.out_series[i].push_back(results[next++]);
  }
}

std::vector<int> places_of_results(const BatchRule& rule, const Graph& lane,
                                   const std::vector<bool>& mapped) {
  std::vector<int> places;
  for (std::size_t i = 0; i < mapped.size(); ++i)
    places.push_back(mapped[i] ? mapped_place(rule.outs[i].aval(), lane.aval(lane.outputs()[i])) : -1);
  return places;
}

std::vector<bool> inexact(std::span<const Aval> avals) {
  std::vector<bool> out;
  for (const Aval& a : avals) out.push_back(is_inexact(a.dtype()));
  return out;
}

Array entry_of(const Array& a, std::int64_t i) {
  if (of_lanes(a.aval().list()))
    return static_cast<ListNode*>(a.node())->entries[static_cast<std::size_t>(i)];
  Array out = allocate(unstacked(a.aval()));
  std::size_t bytes = out.aval().bytes();
  std::memcpy(mutable_data<char>(out),
              static_cast<const char*>(data_of(a)) + static_cast<std::size_t>(i) * bytes, bytes);
  return out;
}

void store_entry(Array& a, std::int64_t i, const Array& entry) {
  std::size_t bytes = entry.aval().bytes();
  std::memcpy(mutable_data<char>(a) + static_cast<std::size_t>(i) * bytes, data_of(entry), bytes);
}

Array make_list(const Aval& list_aval, std::vector<Array> entries) {
  auto* node = new ListNode(list_aval);
  node->entries = std::move(entries);
  return Array::adopt(node);
}

const std::vector<Array>& entries_of(const Array& list) {
  return static_cast<ListNode*>(list.node())->entries;
}

Aval list_of(const Aval& entry) {
  AvalData data = *entry;
  data.list = listed(data.list);
  return Aval(data);
}

Aval entry_aval(const Aval& list) {
  AvalData data = *list;
  data.list = entry_kind(data.list);
  return Aval(data);
}

Aval stacked(const Aval& a, std::int64_t size) {
  AvalData data = *a;
  data.list = with_lanes(data.list);
  data.shape.insert(0, size);
  return Aval(data);
}

Aval unstacked(const Aval& a) {
  AvalData data = *a;
  data.list = without_lanes(data.list);
  data.shape.erase(0);
  return Aval(data);
}

}  // namespace apsis::detail
