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

std::int64_t operand_axis(const Graph& graph, const Eqn& e, std::size_t k, std::int64_t axis) {
  if (e.op->kind == OpKind::Elementwise) return axis;
  if (!e.op->operand_axis) return -1;
  std::vector<Aval> in;
  for (ValueId v : graph.operands(e)) in.push_back(graph.aval(v));
  return e.op->operand_axis(e.params, in, graph.aval(e.first_result), k, axis);
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

/// Makes the Graph of a program: what its outputs and effects need, in an order and with numbers that depend
/// on nothing else.
class GraphBuilder::Finish {
 public:
  Finish(const GraphBuilder& builder, std::size_t fixed, std::vector<ValueId>& captures)
      : builder_(builder),
        fixed_(fixed),
        captures_(captures),
        seen_(builder.eqns_.size(), 0),
        numbers_(builder.avals_.size(), unseen) {
    captures_.clear();
    for (std::size_t i = 0; i < fixed; ++i) numbers_[builder.inputs_[i]] = static_cast<ValueId>(i);
  }

  void visit(std::span<const ValueId> outputs) {
    for (std::uint32_t e : builder_.effects_) {
      visit_eqn(e);
      drain();
    }
    for (ValueId v : outputs) {
      visit_value(v);
      drain();
    }
  }

  GraphRef graph(std::span<const ValueId> outputs) {
    graph_ = new Graph;
    GraphRef result(graph_);
    graph_->input_count_ = static_cast<std::uint32_t>(fixed_ + captures_.size());
    reserve();
    for (std::size_t i = 0; i < fixed_; ++i) graph_->avals_.push_back(builder_.avals_[builder_.inputs_[i]]);
    for (ValueId v : captures_) graph_->avals_.push_back(builder_.avals_[v]);
    graph_->hash_ = graph_->input_count_;
    for (const Aval& a : graph_->avals_) mix(a.hash());
    for (std::uint32_t e : order_) add(builder_.eqns_[e]);
    for (ValueId v : outputs) {
      graph_->outputs_.push_back(numbers_[v]);
      mix(numbers_[v]);
    }
    if (!builder_.lanes_.empty()) graph_->lanes_.resize(graph_->avals_.size());
    for (ValueId v = 0; v < builder_.lanes_.size(); ++v)
      if (numbers_[v] != unseen) graph_->lanes_[numbers_[v]] = builder_.lanes_[v];
    return result;
  }

 private:
  static constexpr ValueId unseen = 0xffffffffu;

  // Depth-first postorder over equations, with an explicit stack of (equation, next operand).

  void visit_eqn(std::uint32_t e) {
    if (seen_[e]) return;
    seen_[e] = 1;
    stack_.push_back({e, 0});
  }

  void visit_value(ValueId v) {
    const std::uint32_t definer = builder_.definer_[v];
    if (definer != no_eqn) return visit_eqn(definer);
    if (numbers_[v] != unseen) return;
    numbers_[v] = static_cast<ValueId>(fixed_ + captures_.size());
    captures_.push_back(v);
  }

  void drain() {
    while (!stack_.empty()) {
      auto& [e, next] = stack_.back();
      if (next == builder_.eqns_[e].operand_count) {
        order_.push_back(e);
        stack_.pop_back();
      } else {
        visit_value(builder_.operands_[builder_.eqns_[e].first_operand + next++]);
      }
    }
  }

  void reserve() {
    std::size_t results = 0, operands = 0;
    for (std::uint32_t e : order_) {
      results += builder_.eqns_[e].result_count;
      operands += builder_.eqns_[e].operand_count;
    }
    graph_->avals_.reserve(graph_->input_count_ + results);
    graph_->definer_.reserve(results);
    graph_->operands_.reserve(operands);
    graph_->eqns_.reserve(order_.size());
  }

  void add(Eqn eqn) {
    note_properties(eqn);
    graph_->hash_ = hash_mix(hash_text(graph_->hash_, eqn.op->name), eqn.params.hash());
    const auto operands = builder_.operands(eqn);
    eqn.first_operand = static_cast<std::uint32_t>(graph_->operands_.size());
    for (ValueId v : operands) {
      graph_->operands_.push_back(numbers_[v]);
      mix(numbers_[v]);
    }
    const auto first = static_cast<ValueId>(graph_->avals_.size());
    for (std::uint32_t r = 0; r < eqn.result_count; ++r) {
      numbers_[eqn.first_result + r] = first + r;
      graph_->avals_.push_back(builder_.avals_[eqn.first_result + r]);
      graph_->definer_.push_back(static_cast<std::uint32_t>(graph_->eqns_.size()));
    }
    eqn.first_result = first;
    graph_->eqns_.push_back(std::move(eqn));
  }

  /// What a Graph has if one of its equations, or a region of one, has it.
  void note_properties(const Eqn& eqn) {
    const auto add_axis = [&](std::string_view axis) {
      if (std::ranges::find(graph_->axes_, axis) == graph_->axes_.end()) graph_->axes_.emplace_back(axis);
    };
    graph_->has_effect_ |= has_effect(*eqn.op, eqn.params);
    graph_->has_custom_ |= eqn.op->kind == OpKind::Custom;
    if (eqn.op->axis) add_axis(eqn.op->axis(eqn.params));
    each_region(eqn.params, [&](const Graph& region) {
      graph_->has_custom_ |= region.has_custom_;
      for (const std::string& axis : region.axes()) add_axis(axis);
    });
  }

  void mix(std::uint64_t word) { graph_->hash_ = hash_mix(graph_->hash_, word); }

  const GraphBuilder& builder_;
  const std::size_t fixed_;
  std::vector<ValueId>& captures_;
  std::vector<char> seen_;        // by equation of the builder
  std::vector<ValueId> numbers_;  // by value of the builder
  std::vector<std::uint32_t> order_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> stack_;
  Graph* graph_ = nullptr;
};

GraphRef GraphBuilder::finish(std::span<const ValueId> outputs, std::size_t fixed,
                              std::vector<ValueId>& captures) {
  Finish finish(*this, fixed, captures);
  finish.visit(outputs);
  return finish.graph(outputs);
}

}  // namespace apsis::detail
