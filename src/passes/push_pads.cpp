#include "passes/push_pads.hpp"

#include <algorithm>
#include <optional>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"
#include "passes/analysis/repeated_number.hpp"

namespace apsis::detail {
namespace {

class Pushing {
 public:
  explicit Pushing(const Graph& graph)
      : graph_(graph), uses_(count_uses(graph)), by_element_(graph.value_count(), 1) {
    for (ValueId v : graph.outputs()) by_element_[v] = 0;
    for (const Eqn& e : graph.eqns())
      for (ValueId v : graph.operands(e))
        by_element_[v] = by_element_[v] && e.op->kind == OpKind::Elementwise && fusible(graph, e);
  }

  /// The one array that the pad's operand is computed from, if the pad is to read that.
  std::optional<ValueId> source(const Eqn& pad) const;
  GraphRef run();

 private:
  ValueId add(const Op& op, const Params& params, std::initializer_list<ValueId> operands, Loc loc) {
    return append1(builder_, op, params, {operands.begin(), operands.size()}, loc);
  }
  ValueId everywhere(ValueId number, const Shape& shape, Loc loc) {
    return add(broadcast_in_dim_op, make_params(BroadcastParams{shape, {}}), {number}, loc);
  }
  ValueId place(std::int64_t n, const Shape& shape, Loc loc) {
    const ConstantParams p{Dtype::I64, false, static_cast<std::uint64_t>(n), 0};
    return everywhere(add(constant_op, make_params(p), {}, loc), shape, loc);
  }
  std::optional<ValueId> inside(const Eqn& pad, Loc loc);
  void push(const Eqn& pad, ValueId source);

  const Graph& graph_;
  std::vector<std::uint32_t> uses_;
  std::vector<char> by_element_;  // by value: elementwise equations alone read it
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
};

std::optional<ValueId> Pushing::source(const Eqn& pad) const {
  constexpr std::int64_t few = 256, cheap = 4;  // elements; instructions
  if (pad.op != &pad_op || !pads_around(graph_, pad) || !by_element_[pad.first_result]) return std::nullopt;
  const Aval& to = graph_.aval(pad.first_result);
  const ValueId operand = graph_.operands(pad)[0];
  const Eqn* made = graph_.definition(operand);
  if (to.size() <= few || !made || made->op->kind != OpKind::Elementwise || made->result_count != 1 ||
      uses_[operand] != 1 || !fusible(graph_, *made) || emission_cost(graph_, *made) > cheap)
    return std::nullopt;
  std::optional<ValueId> only;
  for (ValueId v : graph_.operands(*made)) {
    if (repeated_number(graph_, v)) continue;
    if (graph_.aval(v).dtype() != to.dtype() || (only && *only != v)) return std::nullopt;
    only = v;
  }
  // What is elementwise and read here alone has to be made in any case.
  const Eqn* of = only ? graph_.definition(*only) : nullptr;
  if (of && of->op->kind == OpKind::Elementwise && uses_[*only] == 1) return std::nullopt;
  return only;
}

/// Where the padded array has elements; nothing: everywhere.
std::optional<ValueId> Pushing::inside(const Eqn& pad, Loc loc) {
  const auto& p = pad.params.as<PadParams>();
  const Shape &from = graph_.aval(graph_.operands(pad)[0]).shape(),
              &to = graph_.aval(pad.first_result).shape();
  std::optional<ValueId> all;
  const auto also = [&](ValueId condition) {
    all = all ? add(bit_and_op, {}, {*all, condition}, loc) : condition;
  };
  for (std::size_t d = 0; d < to.size(); ++d) {
    const std::int64_t low = p.low[d], high = low + from[d];
    if (low <= 0 && high >= to[d]) continue;
    const IotaParams along{Dtype::I64, to, static_cast<std::int64_t>(d)};
    const ValueId at = add(iota_op, make_params(along), {}, loc);
    if (low > 0) also(add(ge_op, {}, {at, place(low, to, loc)}, loc));
    if (high < to[d]) also(add(lt_op, {}, {at, place(high, to, loc)}, loc));
  }
  return all;
}

void Pushing::push(const Eqn& pad, ValueId source) {
  const ScopeOf scope(pad.scope);
  const Eqn& made = *graph_.definition(graph_.operands(pad)[0]);
  const Shape& shape = graph_.aval(pad.first_result).shape();
  const ValueId filling = copy_[graph_.operands(pad)[1]];
  const ValueId padded = add(pad_op, pad.params, {copy_[source], filling}, pad.loc);
  std::vector<ValueId> operands;
  for (ValueId v : graph_.operands(made)) {
    const Eqn* number = repeated_number(graph_, v);
    operands.push_back(number ? everywhere(copy_[graph_.operands(*number)[0]], shape, pad.loc) : padded);
  }
  const ValueId computed = append1(builder_, *made.op, made.params, operands, made.loc);
  const std::optional<ValueId> condition = inside(pad, pad.loc);
  copy_[pad.first_result] =
      condition ? add(select_op, {}, {*condition, computed, everywhere(filling, shape, pad.loc)}, pad.loc)
                : computed;
}

GraphRef Pushing::run() {
  copy_.add_inputs();
  for (const Eqn& e : graph_.eqns())
    if (const std::optional<ValueId> of = source(e))
      push(e, *of);
    else
      copy_.add(e);
  return builder_.finish(copy_.outputs());
}

}  // namespace

GraphRef push_pads(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [](const Eqn& e) { return e.op == &pad_op; })) {
    Pushing pushing(graph);
    if (std::ranges::any_of(graph.eqns(), [&](const Eqn& e) { return pushing.source(e).has_value(); }))
      made = pushing.run();
  }
  return with_regions(*made, push_pads);
}

}  // namespace apsis::detail
