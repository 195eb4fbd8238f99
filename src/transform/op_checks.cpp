// Checks that a program makes of its own ops: a rewriting of the staged Graph that puts an `error_if` behind
// each equation that might fail, with the place that the equation came from.

#include "transform/op_checks.hpp"

#include <algorithm>
#include <cmath>

#include "apsis/base/named_scope.hpp"
#include "ir/effects.hpp"
#include "ops/index_params.hpp"
#include "ops/lax.hpp"
#include "transform/messages.hpp"
#include "transform/stage.hpp"

namespace apsis::detail {

extern const Op broadcast_in_dim_op, div_op, rem_op, select_op, stop_gradient_op;

namespace {

Array any(const Array& condition) {
  return condition.ndim()
             ? lax::reduce_or(condition, Dims::counting(static_cast<std::size_t>(condition.ndim())))
             : condition;
}

Array either(const Array& a, const Array& b) { return a.is_empty() ? b : lax::logical_or(a, b); }

/// The text of a message of ours, with {0} replaced by the op's name: the other arguments are values.
std::string named(const Message& message, const char* op) {
  std::string text = message.text;
  std::size_t at = text.find("{0}");
  return at == std::string::npos ? text : text.replace(at, 3, op);
}

void raise_if(const Array& code, std::initializer_list<Message> messages, const Eqn& e,
              std::vector<Array> values = {}) {
  ErrorIfParams p;
  for (const Message& m : messages) {
    p.ids.push_back(m.id);
    p.texts.push_back(named(m, e.op->name));
  }
  p.place = place_text(e.loc);
  values.insert(values.begin(), code);
  bind(error_if_op, make_params(p), values, {}, e.loc);
}

Array any_nan(std::span<const Array> arrays) {
  Array found;
  for (const Array& a : arrays)
    if (!a.is_empty() && is_floating(a.dtype()) && !a.aval().is_list())
      found = either(found, any(lax::ne(a, a)));
  return found;
}

/// Ops that compute; the others move what is there.
bool makes_numbers(const Eqn& e) {
  return (e.op->kind == OpKind::Elementwise || e.op->kind == OpKind::Reduce ||
          e.op->kind == OpKind::Contract) &&
         e.op != &select_op && e.op != &stop_gradient_op;
}

/// Whether a check for NaN has seen the results of `e`, or those that they are copies of. `free`: values
/// without NaN.
bool stays_free(const Eqn& e, std::span<const ValueId> operands, const std::vector<char>& free) {
  return makes_numbers(e) || (e.op->kind == OpKind::View &&
                              std::ranges::all_of(operands, [&](ValueId v) { return free[v] != 0; }));
}

/// `in`: the operands that might hold a NaN.
void check_nan(const Eqn& e, std::span<const Array> in, std::span<const Array> out) {
  Array made = makes_numbers(e) ? any_nan(out) : Array();
  if (made.is_empty()) return;
  Array given = any_nan(in);
  if (given.is_empty()) return raise_if(made, {messages::check_nan_made}, e);
  Array one = literal(Dtype::I64, 1), none = literal(Dtype::I64, 0);
  Array which = lax::select(given, literal(Dtype::I64, 2), one);
  raise_if(lax::select(made, which, none), {messages::check_nan_made, messages::check_nan_passed}, e);
}

/// Whether all elements are a literal that is not zero.
bool never_zero(const Graph& graph, ValueId v) {
  const Eqn* e = graph.definition(v);
  while (e && e->op == &broadcast_in_dim_op) e = graph.definition(graph.operands(*e)[0]);
  if (!e || e->op->kind != OpKind::Constant) return false;
  const Array value = constant_value(e->params);
  return !is_complex(value.dtype()) && value.item<double>() != 0;
}

void check_division(const Graph& graph, const Eqn& e, std::span<const Array> in) {
  if ((e.op == &div_op || e.op == &rem_op) && !never_zero(graph, graph.operands(e)[1]))
    raise_if(any(lax::eq(in[1], lax::full_like(in[1].aval(), 0))), {messages::check_division}, e);
}

/// Starts along one axis must lie in [0, last].
void check_starts(const Eqn& e, const Array& starts, std::int64_t last, std::int64_t axis) {
  if (starts.size() == 0) return;
  Array bad = lax::logical_or(lax::lt(starts, lax::full_like(starts.aval(), 0)),
                              lax::gt(starts, lax::full_like(starts.aval(), static_cast<double>(last))));
  Dims all = Dims::counting(static_cast<std::size_t>(starts.ndim()));
  Array least = starts.ndim() ? lax::reduce_min(starts, all) : starts;
  Array most = starts.ndim() ? lax::reduce_max(starts, all) : starts;
  Message m = messages::check_index;
  raise_if(any(bad), {m}, e,
           {least, most, literal(Dtype::I64, static_cast<double>(last)),
            literal(Dtype::I64, static_cast<double>(axis))});
}

void check_index(const Eqn& e, std::span<const Array> in) {
  const Shape& array = in[0].shape();
  if (e.op == &dynamic_slice_op || e.op == &dynamic_update_slice_op) {
    bool update = e.op == &dynamic_update_slice_op;
    const Shape& sizes = update ? in[1].shape() : e.params.as<DynamicSliceParams>().sizes;
    for (std::size_t k = 0; k < array.size(); ++k)
      check_starts(e, in[k + (update ? 2 : 1)], array[k] - sizes[k], static_cast<std::int64_t>(k));
    return;
  }
  if (e.op != &gather_op && e.op != &scatter_op) return;
  const GatherParams& p =
      e.op == &gather_op ? e.params.as<GatherParams>() : e.params.as<ScatterParams>().places;
  if (p.mode == OutOfBounds::Zero) return;  // says itself what is out of range
  Array indices = in[1];
  auto last = static_cast<std::size_t>(indices.ndim() - 1);
  for (std::size_t k = 0; k < p.start_index_map.size(); ++k) {
    Dims start = Dims::filled(last + 1, 0), limit = indices.shape();
    start[last] = static_cast<std::int64_t>(k);
    limit[last] = start[last] + 1;
    auto axis = static_cast<std::size_t>(p.start_index_map[k]);
    check_starts(e, lax::slice(indices, start, limit), array[axis] - p.slice_sizes[axis],
                 p.start_index_map[k]);
  }
}

}  // namespace

GraphRef with_checks(const Graph& graph, const Checks& checks) {
  if (!checks.any()) return GraphRef(&graph);
  std::vector<Aval> avals;
  for (ValueId v = 0; v < graph.input_count(); ++v) avals.push_back(graph.aval(v));
  auto body = [&](std::span<const Array> inputs) {
    std::vector<Array> values(inputs.begin(), inputs.end()), in, outputs;
    values.resize(graph.value_count());
    std::vector<char> free(graph.value_count(), 0);  // of NaN, once its check has passed
    for (const Eqn& e : graph.eqns()) {
      std::span<Array> out{values.data() + e.first_result, e.result_count};
      if (e.op->kind == OpKind::Constant) {
        out[0] = constant_value(e.params);
        free[e.first_result] = !is_floating(out[0].dtype()) || !std::isnan(out[0].item<double>());
        continue;
      }
      ScopeOf scope(e.scope);
      in.clear();
      for (ValueId v : graph.operands(e)) in.push_back(values[v]);
      if (checks.division) check_division(graph, e, in);
      if (checks.index) check_index(e, in);
      bind(*e.op, map_regions(e.params, [&](const Graph& region) { return with_checks(region, checks); }), in,
           out, e.loc);
      if (!checks.nan) continue;
      std::vector<Array> doubtful;
      for (ValueId v : graph.operands(e))
        if (!free[v]) doubtful.push_back(values[v]);
      check_nan(e, doubtful, out);
      std::fill_n(free.begin() + e.first_result, e.result_count, stays_free(e, graph.operands(e), free));
    }
    for (ValueId v : graph.outputs()) outputs.push_back(values[v]);
    return outputs;
  };
  return stage_with(body, avals, "checks").graph;
}

}  // namespace apsis::detail
