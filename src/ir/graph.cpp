#include "ir/graph.hpp"

#include <algorithm>

#include "apsis/base/keep_library.hpp"
#include "apsis/base/named_scope.hpp"
#include "base/hash.hpp"
#include "core/messages.hpp"

namespace apsis::detail {

bool Graph::same_as(const Graph& other) const {
  if (hash_ != other.hash_ || input_count_ != other.input_count_ || eqns_.size() != other.eqns_.size() ||
      outputs_ != other.outputs_ || operands_ != other.operands_ || avals_ != other.avals_)
    return false;
  for (std::size_t i = 0; i < eqns_.size(); ++i) {
    const Eqn &a = eqns_[i], &b = other.eqns_[i];
    if (a.op != b.op || a.operand_count != b.operand_count || a.result_count != b.result_count ||
        !(a.params == b.params))
      return false;
  }
  return true;
}

void print_field(std::string& out, const GraphRef& g) { out += g ? to_string(*g) : "none"; }

std::vector<const Graph*> regions_of(const Params& params) {
  std::vector<const Graph*> found;
  if (params)
    params.node()->table->regions(
        *params.node(),
        [](void* context, const void* graph) {
          static_cast<std::vector<const Graph*>*>(context)->push_back(static_cast<const Graph*>(graph));
        },
        &found);
  return found;
}

GraphBuilder::GraphBuilder() = default;
GraphBuilder::~GraphBuilder() = default;

ValueId GraphBuilder::input(const Aval& aval) {
  auto v = static_cast<ValueId>(avals_.size());
  avals_.push_back(aval);
  definer_.push_back(no_eqn);
  inputs_.push_back(v);
  return v;
}

ValueId GraphBuilder::constant(const Array& scalar) {
  ConstantParams p{.dtype = scalar.dtype(), .weak = scalar.weak()};
  std::uint64_t bits[2] = {0, 0};
  std::copy_n(static_cast<const char*>(data_of(scalar)), item_size(p.dtype), reinterpret_cast<char*>(bits));
  p.bits = bits[0];
  p.high_bits = bits[1];
  ValueId result;
  append(constant_op, make_params(p), {}, {&result, 1});
  return result;
}

void GraphBuilder::set_lanes(ValueId v, const LaneAxes& lanes) {
  if (lanes.empty()) return;
  if (lanes_.size() <= v) lanes_.resize(v + 1);
  if (lanes.size() > lanes_[v].size()) lanes_[v] = lanes;
}

void GraphBuilder::add(const Op& op, const Params& params, std::span<const ValueId> operands,
                       std::span<ValueId> results, Loc loc) {
  if (op.rewrite && op.rewrite(*this, params, operands, results, loc)) return;
  append(op, params, operands, results, loc);
}

std::uint64_t GraphBuilder::key_of(const Op& op, const Params& params,
                                   std::span<const ValueId> operands) const {
  std::uint64_t key = hash_mix(reinterpret_cast<std::uintptr_t>(&op), params.hash());
  for (ValueId v : operands) key = hash_mix(key, v);
  return key;
}

void GraphBuilder::grow() {
  std::size_t capacity = std::max<std::size_t>(64, table_.size() * 2);
  table_.assign(capacity, 0);
  for (std::uint32_t i = 0; i < eqns_.size(); ++i) {
    if (has_effect(*eqns_[i].op, eqns_[i].params)) continue;
    std::size_t slot = hashes_[i] & (capacity - 1);
    while (table_[slot]) slot = (slot + 1) & (capacity - 1);
    table_[slot] = i + 1;
  }
}

void GraphBuilder::append(const Op& op, const Params& params, std::span<const ValueId> operands,
                          std::span<ValueId> results, Loc loc) {
  std::uint64_t key = key_of(op, params, operands);
  if ((distinct_ + 1) * 2 > table_.size()) grow();
  std::size_t mask = table_.size() - 1, slot = key & mask;
  const bool effect = has_effect(op, params);
  if (!effect) {
    for (; table_[slot]; slot = (slot + 1) & mask) {
      const Eqn& e = eqns_[table_[slot] - 1];
      if (hashes_[table_[slot] - 1] == key && e.op == &op && e.params == params &&
          std::ranges::equal(this->operands(e), operands)) {
        APSIS_ASSERT(e.result_count == results.size());
        for (std::size_t i = 0; i < results.size(); ++i)
          results[i] = e.first_result + static_cast<ValueId>(i);
        return;
      }
    }
  }
  if (!op.shape) fail(messages::no_shape, {op.name}, loc);
  shape_in_.clear();
  shape_out_.clear();
  for (ValueId v : operands) shape_in_.push_back(avals_[v]);
  op.shape(params, shape_in_, shape_out_);
  APSIS_ASSERT(shape_out_.size() == results.size());

  // What a program points to.
  keep_library(&op);
  keep_library(loc.file);
  if (params) keep_library(params.node()->table);
  auto index = static_cast<std::uint32_t>(eqns_.size());
  eqns_.push_back({&op, params, static_cast<std::uint32_t>(operands_.size()),
                   static_cast<std::uint32_t>(operands.size()), static_cast<ValueId>(avals_.size()),
                   static_cast<std::uint32_t>(results.size()), loc, current_scope()});
  hashes_.push_back(key);
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = static_cast<ValueId>(avals_.size());
    avals_.push_back(shape_out_[i]);
    definer_.push_back(index);
  }
  if (effect) {
    effects_.push_back(index);
  } else {
    table_[slot] = index + 1;
    ++distinct_;
  }
}

GraphRef GraphBuilder::finish(std::span<const ValueId> outputs) {
  std::vector<ValueId> none;
  return finish(outputs, inputs_.size(), none);
}

GraphRef GraphBuilder::finish(std::span<const ValueId> outputs, std::size_t fixed,
                              std::vector<ValueId>& captures) {
  // Depth-first postorder over equations, with an explicit stack of (equation, next operand).
  constexpr ValueId unseen = 0xffffffffu;
  std::vector<char> seen(eqns_.size(), 0);
  std::vector<std::uint32_t> order;
  std::vector<ValueId> renumber(avals_.size(), unseen);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stack;
  captures.clear();
  for (std::size_t i = 0; i < fixed; ++i) renumber[inputs_[i]] = static_cast<ValueId>(i);

  auto visit_value = [&](ValueId v) {
    std::uint32_t d = definer_[v];
    if (d != no_eqn) {
      if (!seen[d]) {
        seen[d] = 1;
        stack.push_back({d, 0});
      }
    } else if (renumber[v] == unseen) {
      renumber[v] = static_cast<ValueId>(fixed + captures.size());
      captures.push_back(v);
    }
  };
  auto drain = [&] {
    while (!stack.empty()) {
      auto& [e, next] = stack.back();
      if (next == eqns_[e].operand_count) {
        order.push_back(e);
        stack.pop_back();
      } else {
        visit_value(operands_[eqns_[e].first_operand + next++]);
      }
    }
  };
  for (std::uint32_t e : effects_) {
    if (!seen[e]) {
      seen[e] = 1;
      stack.push_back({e, 0});
    }
    drain();
  }
  for (ValueId v : outputs) {
    visit_value(v);
    drain();
  }

  auto* graph = new Graph;
  GraphRef result(graph);
  graph->input_count_ = static_cast<std::uint32_t>(fixed + captures.size());
  std::size_t results = 0, operands = 0;
  for (std::uint32_t e : order) {
    results += eqns_[e].result_count;
    operands += eqns_[e].operand_count;
  }
  graph->avals_.reserve(graph->input_count_ + results);
  graph->definer_.reserve(results);
  graph->operands_.reserve(operands);
  for (std::size_t i = 0; i < fixed; ++i) graph->avals_.push_back(avals_[inputs_[i]]);
  for (ValueId v : captures) graph->avals_.push_back(avals_[v]);
  graph->eqns_.reserve(order.size());
  std::uint64_t hash = graph->input_count_;
  for (const Aval& a : graph->avals_) hash = hash_mix(hash, a.hash());
  for (std::uint32_t e : order) {
    Eqn eqn = eqns_[e];
    graph->has_effect_ |= has_effect(*eqn.op, eqn.params);
    auto add_axis = [&](std::string_view axis) {
      if (std::ranges::find(graph->axes_, axis) == graph->axes_.end()) graph->axes_.emplace_back(axis);
    };
    if (eqn.op->axis) add_axis(eqn.op->axis(eqn.params));
    each_region(eqn.params, [&](const Graph& region) {
      for (const std::string& axis : region.axes()) add_axis(axis);
    });
    hash = hash_mix(hash_text(hash, eqn.op->name), eqn.params.hash());
    auto old_operands = this->operands(eqn);
    eqn.first_operand = static_cast<std::uint32_t>(graph->operands_.size());
    for (ValueId v : old_operands) {
      graph->operands_.push_back(renumber[v]);
      hash = hash_mix(hash, renumber[v]);
    }
    auto first = static_cast<ValueId>(graph->avals_.size());
    for (std::uint32_t r = 0; r < eqn.result_count; ++r) {
      renumber[eqn.first_result + r] = first + r;
      graph->avals_.push_back(avals_[eqn.first_result + r]);
      graph->definer_.push_back(static_cast<std::uint32_t>(graph->eqns_.size()));
    }
    eqn.first_result = first;
    graph->has_custom_ |= eqn.op->kind == OpKind::Custom;
    for (const Graph* region : regions_of(eqn.params)) graph->has_custom_ |= region->has_custom_;
    graph->eqns_.push_back(std::move(eqn));
  }
  for (ValueId v : outputs) {
    graph->outputs_.push_back(renumber[v]);
    hash = hash_mix(hash, renumber[v]);
  }
  graph->hash_ = hash;
  if (!lanes_.empty()) graph->lanes_.resize(graph->avals_.size());
  for (ValueId v = 0; v < lanes_.size(); ++v)
    if (renumber[v] != unseen) graph->lanes_[renumber[v]] = lanes_[v];
  return result;
}

}  // namespace apsis::detail
