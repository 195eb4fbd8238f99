// What must be looked at to know that a group of checks finds nothing. A code is taken apart into the
// conditions that it is made of. A test that a value has no NaN needs not be made where what is computed from
// the value is tested too, by an op that passes each NaN on: of a chain of such ops the last result is left.

#include "passes/error_tests.hpp"

#include <algorithm>

#include "ops/table.hpp"

namespace apsis::detail {
namespace {

/// Views that show every element of what they are views of.
bool shows_all(const Op& op) { return op.view_kind != ViewKind::None && op.view_kind != ViewKind::Part; }

class Tests {
 public:
  Tests(const Graph& graph, std::uint32_t from) : graph_(graph), from_(from), seen_(graph.value_count(), 0) {}

  std::vector<ValueId> of(std::span<const std::uint32_t> errors) {
    for (std::uint32_t i : errors) take_apart(graph_.operands(graph_.eqns()[i])[0]);
    const std::vector<char> covered = covered_by_later(errors.back());
    std::erase_if(found_, [&](ValueId v) {
      const ValueId tested = nan_tested(v);
      return tested != none && covered[tested];
    });
    // Tests for NaN side by side, as two of them are one comparison.
    std::ranges::stable_partition(found_, [&](ValueId v) { return nan_tested(v) != none; });
    return std::move(found_);
  }

 private:
  static constexpr ValueId none = 0xffffffffu;

  /// The scalar that all elements of the value are, if it is a literal.
  const ConstantParams* literal(ValueId v) const {
    const Eqn* e = graph_.definition(v);
    while (e && shows_all(*e->op)) e = graph_.definition(graph_.operands(*e)[0]);
    return e && e->op->kind == OpKind::Constant ? &e->params.as<ConstantParams>() : nullptr;
  }

  /// Whether no element of a code is zero: codes choose between literals.
  bool never_zero(ValueId v) const {
    std::vector<ValueId> open{v};
    while (!open.empty()) {
      v = open.back();
      open.pop_back();
      const ConstantParams* c = literal(v);
      if (c && c->bits != 0) continue;
      const Eqn* e = graph_.definition(v);
      if (!e || !e->op->chooses) return false;
      open.insert(open.end(), {graph_.operands(*e)[1], graph_.operands(*e)[2]});
    }
    return true;
  }

  /// The values whose elements decide whether some element of `code` is not zero.
  void take_apart(ValueId code) {
    std::vector<ValueId> open{code};
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      if (seen_[v] || graph_.aval(v).size() == 0) continue;
      seen_[v] = 1;
      const Eqn* e = graph_.definition(v);
      const bool boolean = graph_.aval(v).dtype() == Dtype::Bool;
      const auto operand = [&](std::size_t i) { return graph_.operands(*e)[i]; };
      if (e && (shows_all(*e->op) || (boolean && e->op->logic == Logic::Any))) {
        for (std::size_t i = e->operand_count; i-- > 0;) open.push_back(operand(i));
      } else if (e && e->op == &convert_op && graph_.aval(operand(0)).dtype() == Dtype::Bool) {
        open.push_back(operand(0));
      } else if (e && e->op->chooses && never_zero(operand(1))) {
        open.insert(open.end(), {operand(2), operand(0)});
      } else if (const ConstantParams* c = literal(v); !c || c->bits != 0) {
        found_.push_back(v);
      }
    }
  }

  /// The value that `test` looks for NaN in, if it does nothing else.
  ValueId nan_tested(ValueId test) const {
    const Eqn* e = graph_.definition(test);
    if (!e || e->op != &ne_op || graph_.operands(*e)[0] != graph_.operands(*e)[1]) return none;
    return is_floating(graph_.aval(graph_.operands(*e)[0]).dtype()) ? graph_.operands(*e)[0] : none;
  }

  /// Which values have a NaN only if another has one that is tested.
  std::vector<char> covered_by_later(std::uint32_t last) const {
    std::vector<char> tested(graph_.value_count(), 0), covered(graph_.value_count(), 0);
    for (ValueId v : found_)
      if (nan_tested(v) != none) tested[nan_tested(v)] = 1;
    for (std::uint32_t i = last; i-- > from_;) {
      const Eqn& e = graph_.eqns()[i];
      if (e.result_count != 1 || !e.op->spreads_nan) continue;
      const ValueId result = e.first_result;
      if (!tested[result] && !covered[result]) continue;
      const auto passes = [&](ValueId v) {
        return is_floating(graph_.aval(v).dtype()) && graph_.aval(v).size() > 0;
      };
      if (!passes(result)) continue;
      for (ValueId v : graph_.operands(e))
        if (passes(v)) covered[v] = 1;
    }
    return covered;
  }

  const Graph& graph_;
  std::uint32_t from_;
  std::vector<char> seen_;
  std::vector<ValueId> found_;
};

}  // namespace

std::vector<ValueId> error_tests(const Graph& graph, std::span<const std::uint32_t> errors,
                                 std::uint32_t from) {
  return Tests(graph, from).of(errors);
}

}  // namespace apsis::detail
