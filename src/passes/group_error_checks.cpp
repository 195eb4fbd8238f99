#include "passes/group_error_checks.hpp"

#include <algorithm>

#include "ir/copy.hpp"
#include "ir/effects.hpp"
#include "ops/convert_params.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"
#include "passes/analysis/fusible.hpp"
#include "passes/analysis/updates.hpp"
#include "passes/error_tests.hpp"

namespace apsis::detail {
namespace {

bool is_check(const Eqn& e) { return e.op == &error_if_op; }

bool has_errors(const Graph& graph) {
  return graph.has_effect() && std::ranges::any_of(graph.eqns(), [](const Eqn& e) {
           bool found = is_check(e);
           each_region(e.params, [&](const Graph& region) { found = found || has_errors(region); });
           return found;
         });
}

/// Whether what an equation gives is computed again where an error is raised, rather than kept for it.
bool computed_again(const Graph& graph, const Eqn& e) {
  const auto is_list = [&](ValueId v) { return graph.aval(v).is_list(); };
  if (std::ranges::any_of(graph.operands(e), is_list)) return false;
  switch (e.op->kind) {
    case OpKind::Constant:
    case OpKind::View:
    case OpKind::Reduce:
      return true;
    case OpKind::Elementwise:
      // The user's own ops may differ from the evaluator in the last bit, and what depends on it.
      return std::ranges::find(op_table(), e.op) != op_table().end();
    default:
      return e.op->cheap;
  }
}

/// Errors are not put off past these: other effects, loops (which may not end), calls of the host, and
/// updates of arrays in place, as what an error is found from must still be there.
bool ends_group(const Graph& graph, const Eqn& e) {
  switch (e.op->kind) {
    case OpKind::Constant:
    case OpKind::Elementwise:
    case OpKind::View:
    case OpKind::Reduce:
    case OpKind::Contract:
    case OpKind::Index:
      break;
    default:
      return true;
  }
  constexpr std::int64_t always_in_registers = 4;
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (updated_operand(e, r) >= 0 && !in_registers(graph.aval(e.first_result + r), always_in_registers))
      return true;
  return has_effect(*e.op, e.params) || (e.op->kind == OpKind::Elementwise && !e.op->emit);
}

class Grouping {
 public:
  explicit Grouping(const Graph& graph) : graph_(graph), copy_(builder_, graph) {}

  GraphRef run() {
    copy_.add_inputs();
    const auto count = static_cast<std::uint32_t>(graph_.eqns().size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const Eqn& e = graph_.eqns()[i];
      if (is_check(e)) {
        errors_.push_back(i);
        continue;
      }
      if (ends_group(graph_, e)) {
        raise(i);
        first_ = i + 1;
      }
      copy_.add(e, map_regions(e.params, group_error_checks));
    }
    raise(count);
    return builder_.finish(copy_.outputs());
  }

 private:
  ValueId append1(const Op& op, const Params& params, std::initializer_list<ValueId> operands) {
    return detail::append1(builder_, op, params, {operands.begin(), operands.size()});
  }

  /// Whether one of the tests has an element set.
  ValueId any_of(std::span<const ValueId> tests) {
    std::vector<ValueId> open;
    for (ValueId v : tests) {
      ValueId test = copy_[v];
      const Aval& aval = builder_.aval(test);
      if (aval.dtype() != Dtype::Bool)
        test = append1(convert_op, make_params(ConvertParams{Dtype::Bool, false}), {test});
      if (const std::size_t rank = builder_.aval(test).shape().size())
        test = append1(reduce_or_op, make_params(ReduceParams{Dims::counting(rank)}), {test});
      open.push_back(test);
    }
    // Neighbours first.
    while (open.size() > 1) {
      std::size_t made = 0;
      for (std::size_t k = 0; k < open.size(); k += 2)
        open[made++] = k + 1 < open.size() ? append1(bit_or_op, {}, {open[k], open[k + 1]}) : open[k];
      open.resize(made);
    }
    return open[0];
  }

  /// Raises what the errors that wait have found, before equation `end`.
  void raise(std::uint32_t end) {
    if (errors_.empty()) return;
    const std::vector<ValueId> tests = error_tests(graph_, errors_, first_);
    if (!tests.empty()) {
      std::vector<ValueId> operands{any_of(tests)};
      RaiseWhenParams p{found_again(end, operands)};
      builder_.append(raise_when_op, make_params(std::move(p)), operands, {}, graph_.eqns()[errors_[0]].loc);
    }
    errors_.clear();
  }

  /// The program that finds and raises them, from values that are appended to `operands`.
  GraphRef found_again(std::uint32_t end, std::vector<ValueId>& operands) const {
    std::vector<char> needed(graph_.value_count(), 0), again(end - first_, 0);
    for (std::uint32_t i : errors_)
      for (ValueId v : graph_.operands(graph_.eqns()[i])) needed[v] = 1;
    for (std::uint32_t i = end; i-- > first_;) {
      const Eqn& e = graph_.eqns()[i];
      for (std::uint32_t r = 0; r < e.result_count; ++r) again[i - first_] |= needed[e.first_result + r];
      again[i - first_] = again[i - first_] && computed_again(graph_, e);
      if (!again[i - first_]) continue;
      std::fill_n(needed.begin() + e.first_result, e.result_count, char{0});
      for (ValueId v : graph_.operands(e)) needed[v] = 1;
    }
    GraphBuilder builder;
    GraphCopy copy(builder, graph_);
    for (ValueId v = 0; v < graph_.value_count(); ++v) {
      if (!needed[v]) continue;
      if (const Eqn* e = graph_.definition(v); e && e->op->kind == OpKind::Constant) {
        copy.add(*e);
        continue;
      }
      copy.add_input(v);
      operands.push_back(copy_[v]);
    }
    for (std::uint32_t i = first_; i < end; ++i) {
      const Eqn& e = graph_.eqns()[i];
      if (again[i - first_] || is_check(e)) copy.add(e);
    }
    return builder.finish({});
  }

  const Graph& graph_;
  GraphBuilder builder_;
  GraphCopy copy_;
  std::vector<std::uint32_t> errors_;  // that wait
  std::uint32_t first_ = 0;            // equation of the group
};

}  // namespace

GraphRef group_error_checks(const Graph& graph) {
  if (!has_errors(graph)) return GraphRef(&graph);
  return Grouping(graph).run();
}

}  // namespace apsis::detail
