#include "passes/hoist_elements.hpp"

#include <algorithm>

#include "ir/copy.hpp"
#include "ir/loop.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

using Flags = std::vector<char>;

constexpr std::int64_t fewest_iterations = 16;
// A value of more elements fills vectors in the loop.
constexpr std::int64_t most_elements = 4;
// Instructions: of an equation that is worth it, and for each number that goes through memory instead.
constexpr std::int64_t costly = 12, worth_memory = 16;
constexpr std::int64_t most_bytes = std::int64_t{32} << 20;

/// What an equation of a body is computed from.
enum class Of : char { Fixed, Entries, Other };

bool is_elementwise(const Graph& body, const Eqn& e) {
  return e.op->kind == OpKind::Elementwise && e.result_count == 1 && fusible(body, e);
}

/// Whether the equation can be written for all entries at once.
bool has_time(const Graph& body, const Eqn& e) {
  if (e.result_count != 1 || body.aval(e.first_result).is_list() ||
      body.aval(e.first_result).size() > most_elements)
    return false;
  return is_elementwise(body, e) || e.op == &slice_op || e.op == &reshape_op || e.op == &broadcast_in_dim_op;
}

/// By value of the body.
std::vector<Of> origins(const Loop& loop) {
  const Graph& body = *loop.body;
  std::vector<Of> of(body.value_count(), Of::Other);
  for (ValueId v = 0; v < body.input_count(); ++v)
    if (!body.aval(v).is_list()) {
      if (v < loop.consts) of[v] = Of::Fixed;
      if (v >= loop.consts + loop.carries) of[v] = Of::Entries;
    }
  for (const Eqn& e : body.eqns()) {
    if (e.op->kind == OpKind::Constant) of[e.first_result] = Of::Fixed;
    if (!has_time(body, e)) continue;
    Of from = Of::Fixed;
    for (ValueId v : body.operands(e)) from = std::max(from, of[v]);
    of[e.first_result] = from;
  }
  return of;
}

/// The equations of a body that are written before the loop, and those of their results that it reads.
struct Choice {
  std::vector<Of> of;  // by value
  Flags before;        // by equation
  std::vector<ValueId> kept;
};

Choice choose(const Loop& loop) {
  if (loop.length < fewest_iterations) return {};
  const Graph& body = *loop.body;
  const std::size_t count = body.eqns().size();
  Choice choice{origins(loop), Flags(count, 0), {}};
  Flags moved(body.value_count(), 0), read(body.value_count(), 0), wanted(body.value_count(), 0);
  std::int64_t cost = 0, bytes = 0, numbers = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Eqn& e = body.eqns()[i];
    const bool elementwise = is_elementwise(body, e);
    const std::int64_t own = elementwise ? emission_cost(body, e) : 0;
    const bool after_moved = std::ranges::any_of(body.operands(e), [&](ValueId v) { return moved[v] != 0; });
    if (e.result_count == 1 && choice.of[e.first_result] == Of::Entries && (own >= costly || after_moved)) {
      moved[e.first_result] = 1;
      cost += own * body.aval(e.first_result).size();
    } else {
      for (ValueId v : body.operands(e)) read[v] = 1;
    }
  }
  for (ValueId v : body.outputs()) read[v] = 1;
  for (ValueId v = body.input_count(); v < body.value_count(); ++v) {
    if (!moved[v] || !read[v]) continue;
    choice.kept.push_back(v);
    numbers += body.aval(v).size();
    bytes += loop.length * static_cast<std::int64_t>(body.aval(v).bytes());
  }
  if (choice.kept.empty() || cost < worth_memory * numbers || bytes > most_bytes) return {};
  for (ValueId v : choice.kept) wanted[v] = 1;
  for (std::size_t i = count; i-- > 0;) {
    const Eqn& e = body.eqns()[i];
    choice.before[i] = e.result_count == 1 && wanted[e.first_result];
    if (choice.before[i])
      for (ValueId v : body.operands(e)) wanted[v] = 1;
  }
  return choice;
}

/// Equations of a body written for all entries: values of entries get an axis of iterations, the first one.
class OfAllEntries {
 public:
  OfAllEntries(GraphBuilder& builder, const Loop& loop, const std::vector<Of>& of,
               std::span<const ValueId> operands)
      : builder_(builder), body_(*loop.body), length_(loop.length), of_(of), copy_(builder, body_) {
    for (ValueId v = 0; v < body_.input_count(); ++v)
      if (of_[v] != Of::Other) copy_[v] = operands[v];
  }

  void add(const Eqn& e) {
    if (of_[e.first_result] == Of::Fixed) return copy_.add(e);
    std::vector<ValueId> operands;
    for (ValueId v : body_.operands(e)) operands.push_back(with_time(v));
    copy_[e.first_result] = append1(builder_, *e.op, params_of(e), operands, e.loc);
  }
  ValueId operator[](ValueId v) const { return copy_[v]; }

 private:
  Shape after_length(Shape shape) const {
    shape.insert(0, length_);
    return shape;
  }
  ValueId with_time(ValueId v) {
    if (of_[v] == Of::Entries) return copy_[v];
    BroadcastParams repeated{after_length(body_.aval(v).shape()), {}};
    for (std::int64_t axis = 0; axis < body_.aval(v).rank(); ++axis) repeated.axes.push_back(axis + 1);
    return append1(builder_, broadcast_in_dim_op, make_params(repeated), {&copy_[v], 1});
  }
  Params params_of(const Eqn& e) const {
    if (e.op == &slice_op) {
      SliceParams p = e.params.as<SliceParams>();
      p.start.insert(0, 0);
      p.limit.insert(0, length_);
      p.stride.insert(0, 1);
      return make_params(p);
    }
    if (e.op == &reshape_op) return make_params(ReshapeParams{after_length(e.params.as<ReshapeParams>().shape)});
    if (e.op == &broadcast_in_dim_op) {
      BroadcastParams p = e.params.as<BroadcastParams>();
      p.shape = after_length(p.shape);
      p.axes = after_time(p.axes);
      p.axes.insert(0, 0);
      return make_params(p);
    }
    return e.params;
  }

  GraphBuilder& builder_;
  const Graph& body_;
  std::int64_t length_;
  const std::vector<Of>& of_;
  GraphCopy copy_;
};

void add_scan(GraphBuilder& builder, GraphCopy& copy, const Graph& graph, const Eqn& e) {
  const Params simple = map_regions(e.params, hoist_elements);
  ScanParams scan = simple.as<ScanParams>();
  const Loop loop(scan);
  const Choice choice = choose(loop);
  if (choice.kept.empty()) return copy.add(e, simple);
  std::vector<ValueId> operands = copy(graph.operands(e)), made(e.result_count);
  OfAllEntries all(builder, loop, choice.of, operands);
  const Graph& body = *loop.body;
  for (std::size_t i = 0; i < body.eqns().size(); ++i)
    if (choice.before[i]) all.add(body.eqns()[i]);
  scan.body = with_values_given(body, choice.kept);
  for (ValueId v : choice.kept) operands.push_back(all[v]);
  builder.append(*e.op, make_params(scan), operands, made, e.loc);
  for (std::uint32_t r = 0; r < e.result_count; ++r) copy[e.first_result + r] = made[r];
}

/// Whether something goes before a loop, in regions too.
bool has_long_computation(const Graph& graph) {
  return std::ranges::any_of(graph.eqns(), [](const Eqn& e) {
    bool found = e.op->kind == OpKind::Scan && !choose(Loop(e)).kept.empty();
    if (e.op->kind != OpKind::MapLanes)
      each_region(e.params, [&](const Graph& region) { found = found || has_long_computation(region); });
    return found;
  });
}

}  // namespace

GraphRef hoist_elements(const Graph& graph) {
  if (!has_loop(graph) || !has_long_computation(graph)) return GraphRef(&graph);
  GraphBuilder builder;
  GraphCopy copy(builder, graph);
  copy.add_inputs();
  for (const Eqn& e : graph.eqns()) {
    if (e.op->kind == OpKind::Scan)
      add_scan(builder, copy, graph, e);
    else
      copy.add(e, e.op->kind == OpKind::MapLanes ? e.params : map_regions(e.params, hoist_elements));
  }
  return builder.finish(copy.outputs());
}

}  // namespace apsis::detail
