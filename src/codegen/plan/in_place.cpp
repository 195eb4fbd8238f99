#include "codegen/plan/in_place.hpp"

#include <algorithm>

#include "ops/fft_params.hpp"
#include "passes/analysis/fusible.hpp"
#include "passes/analysis/updates.hpp"
#include "passes/group_error_checks.hpp"
#include "passes/join_pads.hpp"
#include "passes/split_at_joins.hpp"
#include "passes/split_columns.hpp"
#include "passes/split_phases.hpp"

namespace apsis::detail {
namespace {

/// Whether the equation has read its operands before an element of `value` is written elsewhere than where it
/// reads next.
bool reads_at_once(const Graph& graph, const Eqn& e, ValueId value) {
  constexpr std::int64_t always_in_registers = 4;
  if (may_be_view(e)) return in_registers(graph.aval(e.first_result), always_in_registers);
  // Elementwise code behind a product may be one loop with it, which reads rows again after it has written
  // some.
  if (e.op->kind == OpKind::Contract) return graph.aval(e.first_result).size() != graph.aval(value).size();
  return fusible(graph, e) || e.op->kind == OpKind::Reduce;
}

/// The equations that `v` is computed by.
std::vector<char> ancestors(const Graph& graph, ValueId v) {
  std::vector<char> value(graph.value_count(), 0), eqn(graph.eqns().size(), 0);
  value[v] = 1;
  for (std::size_t i = graph.eqns().size(); i-- > 0;) {
    const Eqn& e = graph.eqns()[i];
    for (std::uint32_t r = 0; r < e.result_count; ++r) eqn[i] |= value[e.first_result + r];
    if (eqn[i])
      for (ValueId o : graph.operands(e)) value[o] = 1;
  }
  return eqn;
}

/// Which equations read each input, and what output may lie under it.
class Inputs {
 public:
  explicit Inputs(const Graph& graph)
      : graph_(graph), taken_(graph.input_count(), 0), readers_(graph.input_count()) {
    for (std::uint32_t i = 0; i < graph.eqns().size(); ++i)
      for (ValueId v : graph.operands(graph.eqns()[i]))
        if (v < graph.input_count()) readers_[v].push_back(&graph.eqns()[i]);
    for (ValueId v : graph.outputs())
      if (v < graph.input_count()) taken_[v] = 1;
  }

  /// An input of the value's shape that is read only by what the value is computed by.
  std::int32_t free_after(ValueId value) {
    const std::vector<char> before = ancestors(graph_, value);
    for (ValueId i = 0; i < graph_.input_count(); ++i)
      if (is_free(i, value, before)) return take(i);
    return -1;
  }
  bool is_free_after(ValueId input, ValueId value) const {
    return is_free(input, value, ancestors(graph_, value));
  }

  /// The input that the value is an update of, if nothing reads it once it has been updated.
  std::int32_t updated(ValueId value) {
    const Eqn* first = nullptr;
    while (const Eqn* e = graph_.definition(value)) {
      const std::uint32_t result = value - e->first_result;
      const std::int64_t operand = updated_operand(*e, result);
      const bool hidden = e->op->kind == OpKind::Cond || e->op->kind == OpKind::Call;
      if (operand < 0 || hidden || loop_carry_use(*e, result) != CarryUse::InPlace) return -1;
      first = e;
      value = graph_.operands(*e)[static_cast<std::size_t>(operand)];
    }
    if (!first || taken_[value] || std::ranges::count(graph_.operands(*first), value) != 1) return -1;
    const ValueId changed = first->first_result;
    return all_before(value, changed, ancestors(graph_, changed), first) ? take(value) : -1;
  }

 private:
  bool is_free(ValueId input, ValueId value, const std::vector<char>& before) const {
    return !taken_[input] && alike(input, value) && all_before(input, value, before, nullptr);
  }
  bool alike(ValueId a, ValueId b) const {
    return graph_.aval(a).dtype() == graph_.aval(b).dtype() &&
           graph_.aval(a).shape() == graph_.aval(b).shape();
  }
  /// Whether what reads the input, but for `last`, is among what `value` is computed by, and keeps nothing.
  bool all_before(ValueId input, ValueId value, const std::vector<char>& before, const Eqn* last) const {
    return std::ranges::all_of(readers_[input], [&](const Eqn* e) {
      return e == last ||
             (before[static_cast<std::size_t>(e - graph_.eqns().data())] && reads_at_once(graph_, *e, value));
    });
  }
  std::int32_t take(ValueId input) {
    taken_[input] = 1;
    return static_cast<std::int32_t>(input);
  }

  const Graph& graph_;
  std::vector<char> taken_;
  std::vector<std::vector<const Eqn*>> readers_;
};

/// What errors are found from is read once more where they may be raised; what is computed part by part is no
/// single loop.
GraphRef as_written(const Graph& given) {
  const GraphRef deferred = group_error_checks(given);
  return split_at_joins(*split_phases(*split_columns(*join_pads(*deferred))));
}

/// Whether the value is written element by element.
bool is_by_element(const Graph& graph, ValueId v) {
  const Eqn* e = graph.definition(v);
  return e && fusible(graph, *e) && divides_into_vectors(graph.aval(v).shape());
}

}  // namespace

bool divides_into_vectors(const Shape& shape) {
  constexpr std::int64_t widest = 64;
  return std::ranges::all_of(shape,
                             [](std::int64_t n) { return n > 0 && (n % widest == 0 || (n & (n - 1)) == 0); });
}

bool kernel_overwrites(const Eqn& e) {
  return e.op == &fft_op && e.params.as<FftParams>().kind == FftKind::Complex;
}

// An output is written element by element in the last of its loops. An input of its shape may lie under it if
// everything that reads the input comes before that loop, or is part of it and reads the element that is
// about to be written: so if all its readers are among the equations that the output is computed by, and none
// keeps a view of it. Or the output is an input updated in part, by equations or in loops: then nothing else
// may read the input after the first of them.
std::vector<std::int32_t> overwritable_inputs(const Graph& given) {
  const GraphRef written = as_written(given);
  const Graph& graph = *written;
  std::vector<std::int32_t> found(graph.outputs().size(), -1);
  Inputs inputs(graph);
  for (std::size_t o = 0; o < found.size(); ++o) {
    const ValueId v = graph.outputs()[o];
    if (!graph.definition(v)) continue;
    if (is_by_element(graph, v))
      found[o] = inputs.free_after(v);
    else if (std::ranges::count(graph.outputs(), v) == 1)
      found[o] = inputs.updated(v);
  }
  return found;
}

std::vector<char> carries_made_in_place(const Graph& body, std::size_t first_carry, std::size_t carries) {
  const GraphRef written = as_written(body);
  const Inputs inputs(*written);
  std::vector<char> found(carries, 0);
  for (std::size_t i = 0; i < carries; ++i) {
    const ValueId v = written->outputs()[i];
    found[i] =
        static_cast<char>(is_by_element(*written, v) && std::ranges::count(written->outputs(), v) == 1 &&
                          inputs.is_free_after(static_cast<ValueId>(first_carry + i), v));
  }
  return found;
}

}  // namespace apsis::detail
