// Checks that a program makes of its own ops: a rewriting of the staged Graph that puts an `error_if` behind
// each equation that might fail, with the place that the equation came from.

#include "transform/checks/op_checks.hpp"

#include <algorithm>
#include <cmath>

#include "apsis/base/named_scope.hpp"
#include "ir/effects.hpp"
#include "ops/index_params.hpp"
#include "ops/lax.hpp"
#include "transform/checks/check_lanes.hpp"
#include "transform/stage/messages.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {

namespace {

thread_local bool is_checked = false;

Array either(const Array& a, const Array& b) { return a.is_empty() ? b : lax::logical_or(a, b); }

/// The text of a message of ours, with {0} replaced by the op's name: the other arguments are values.
std::string named(const Message& message, const char* op) {
  std::string text = message.text;
  std::size_t at = text.find("{0}");
  return at == std::string::npos ? text : text.replace(at, 3, op);
}

/// `code`: an element for each lane, as many axes as there are vmaps. Of the values scalars are those of all
/// lanes.
void raise_if(const Array& code, std::initializer_list<Message> messages, const Eqn& e,
              std::vector<Array> values = {}) {
  ErrorIfParams p;
  for (const Message& m : messages) {
    p.ids.push_back(m.id);
    p.texts.push_back(named(m, e.op->name));
  }
  p.place = place_text(e.loc);
  p.lane_axes = code.ndim();
  for (Array& value : values) value = for_lanes(value, code.shape());
  values.insert(values.begin(), code);
  bind(error_if_op, make_params(p), values, {}, e.loc);
}

bool may_be_nan(const Array& a) { return !a.is_empty() && is_floating(a.dtype()) && !a.aval().is_list(); }

/// Ops that compute; the others move what is there.
bool makes_numbers(const Eqn& e) {
  return (e.op->kind == OpKind::Elementwise || e.op->kind == OpKind::Reduce ||
          e.op->kind == OpKind::Contract) &&
         !e.op->moves;
}

/// Whether a check for NaN has seen the results of `e`, or those that they are copies of. `free`: values
/// without NaN.
bool stays_free(const Eqn& e, std::span<const ValueId> operands, const std::vector<char>& free) {
  return makes_numbers(e) || (e.op->kind == OpKind::View &&
                              std::ranges::all_of(operands, [&](ValueId v) { return free[v] != 0; }));
}

/// `in`: the operands that might hold a NaN, and their lanes. Where these are not those of the results, a NaN
/// of any lane counts as one of each.
void check_nan(const Eqn& e, std::span<const Array> in, std::span<const LaneAxes> in_lanes,
               std::span<const Array> out, const LaneAxes& lanes) {
  if (!makes_numbers(e) || std::ranges::none_of(out, may_be_nan)) return;
  const Shape each = shape_of_lanes(out[0], lanes);
  Array made, given;
  for (const Array& a : out)
    if (may_be_nan(a)) made = either(made, any_by_lane(lax::ne(a, a), lanes));
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!may_be_nan(in[i])) continue;
    const LaneAxes own = in[i].shape() == out[0].shape() ? lanes : in_lanes[i];
    const bool same = shape_of_lanes(in[i], own) == each;
    given = either(given, for_lanes(any_by_lane(lax::ne(in[i], in[i]), same ? own : LaneAxes()), each));
  }
  if (given.is_empty()) return raise_if(made, {messages::check_nan_made}, e);
  const auto code = [&](int k) { return lax::full(each, Dtype::I64, k); };
  raise_if(lax::select(made, lax::select(given, code(2), code(1)), code(0)),
           {messages::check_nan_made, messages::check_nan_passed}, e);
}

/// Whether all elements are a literal that is not zero.
bool never_zero(const Graph& graph, ValueId v) {
  const Eqn* e = graph.definition(v);
  while (e && e->op->view_kind == ViewKind::Repeated) e = graph.definition(graph.operands(*e)[0]);
  if (!e || e->op->kind != OpKind::Constant) return false;
  const Array value = constant_value(e->params);
  return !is_complex(value.dtype()) && value.item<double>() != 0;
}

void check_division(const Graph& graph, const Eqn& e, std::span<const Array> in, const LaneAxes& lanes) {
  if (e.op->divisor < 0) return;
  const auto k = static_cast<std::size_t>(e.op->divisor);
  if (!never_zero(graph, graph.operands(e)[k]))
    raise_if(any_by_lane(lax::eq(in[k], lax::full_like(in[k].aval(), 0)), lanes), {messages::check_division},
             e);
}

/// Starts along one axis must lie in [0, last].
void check_starts(const Eqn& e, const Array& starts, const LaneAxes& lanes, std::int64_t last,
                  std::int64_t axis) {
  if (starts.size() == 0) return;
  Array bad = lax::logical_or(lax::lt(starts, lax::full_like(starts.aval(), 0)),
                              lax::gt(starts, lax::full_like(starts.aval(), static_cast<double>(last))));
  Message m = messages::check_index;
  raise_if(any_by_lane(bad, lanes), {m}, e,
           {min_by_lane(starts, lanes), max_by_lane(starts, lanes),
            literal(Dtype::I64, static_cast<double>(last)), literal(Dtype::I64, static_cast<double>(axis))});
}

/// `out`: the aval of the result.
void check_index(const Eqn& e, std::span<const Array> in, const Aval& out, const LaneAxes& result) {
  if (in.empty()) return;
  const Op& op = *e.op;
  const Shape& array = in[0].shape();
  if (op.starts >= 0) {
    const Shape& sizes = op.written < 0 ? out.shape() : in[static_cast<std::size_t>(op.written)].shape();
    for (std::size_t k = 0; k < array.size(); ++k) {
      const auto axis = static_cast<std::int64_t>(k);
      if (!result.contains(axis))
        check_starts(e, in[static_cast<std::size_t>(op.starts) + k], {}, array[k] - sizes[k],
                     axis_in_lane(axis, result));
    }
  }
  if (!op.places) return;
  const bool reads = op.updates < 0;
  const GatherParams& p = op.places(e.params);
  if (p.mode == OutOfBounds::Zero) return;  // says itself what is out of range
  const IndexLanes lanes = reads ? lanes_of_gather(p, array, result) : lanes_of_scatter(p, result);
  Array indices = in[1];
  auto last = static_cast<std::size_t>(indices.ndim() - 1);
  for (std::size_t k = 0; k < p.start_index_map.size(); ++k) {
    Dims start = Dims::filled(last + 1, 0), limit = indices.shape();
    start[last] = static_cast<std::int64_t>(k);
    limit[last] = start[last] + 1;
    auto axis = static_cast<std::size_t>(p.start_index_map[k]);
    check_starts(e, lax::slice(indices, start, limit), lanes.indices, array[axis] - p.slice_sizes[axis],
                 axis_in_lane(p.start_index_map[k], lanes.array));
  }
}

}  // namespace

CheckedStaging::CheckedStaging(bool wanted) : previous_(is_checked) { is_checked = is_checked || wanted; }
CheckedStaging::~CheckedStaging() { is_checked = previous_; }
bool staging_is_checked() { return is_checked; }

GraphRef with_checks(const Graph& graph, const Checks& checks) {
  if (!checks.any()) return GraphRef(&graph);
  std::vector<Aval> avals;
  for (ValueId v = 0; v < graph.input_count(); ++v) avals.push_back(graph.aval(v));
  auto body = [&](std::span<const Array> inputs) {
    std::vector<Array> values(inputs.begin(), inputs.end()), in, outputs;
    values.resize(graph.value_count());
    std::vector<char> free(graph.value_count(), 0);  // of NaN, once its check has passed
    std::vector<LaneAxes> lanes(graph.value_count());
    for (ValueId v = 0; v < graph.value_count(); ++v) lanes[v] = graph.lanes(v);
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
      const LaneAxes own = lanes_of_result(graph, e, lanes);
      if (e.result_count == 1) lanes[e.first_result] = own;
      if (checks.division) check_division(graph, e, in, own);
      if (checks.index && e.result_count == 1) check_index(e, in, graph.aval(e.first_result), own);
      bind(*e.op, map_regions(e.params, [&](const Graph& region) { return with_checks(region, checks); }), in,
           out, e.loc);
      note_lanes(graph, e, out);
      if (!checks.nan) continue;
      std::vector<Array> doubtful;
      std::vector<LaneAxes> doubtful_lanes;
      for (ValueId v : graph.operands(e)) {
        if (free[v]) continue;
        doubtful.push_back(values[v]);
        doubtful_lanes.push_back(lanes[v]);
      }
      check_nan(e, doubtful, doubtful_lanes, out, own);
      std::fill_n(free.begin() + e.first_result, e.result_count, stays_free(e, graph.operands(e), free));
    }
    for (ValueId v : graph.outputs()) outputs.push_back(values[v]);
    return outputs;
  };
  return stage_with(body, avals, "checks").graph;
}

}  // namespace apsis::detail
