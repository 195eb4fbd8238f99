#include "passes/push_gathers.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/fusible.hpp"
#include "passes/analysis/gathered_rows.hpp"

namespace apsis::detail {
namespace {

bool is_clipped_gather(const Eqn& e) {
  return e.op == &gather_op && e.params.as<GatherParams>().mode == OutOfBounds::Clip;
}

class Pushing {
 public:
  explicit Pushing(const Graph& graph) : graph_(graph), wanted_(graph.value_count()) {}

  /// Whether anything is computed of gathered operands.
  bool plan();
  GraphRef run();

 private:
  /// A gather of a value, or of what is made of it, as an array of this shape.
  struct Reader {
    const Eqn* gather;
    Shape as;
    friend bool operator==(const Reader&, const Reader&) = default;
  };
  struct Wanted {
    bool whole = false, apart = false;  // apart: computed for each gather
    std::vector<Reader> readers;
  };

  bool is_by_element(const Eqn& e) const {
    return e.op->kind == OpKind::Elementwise && e.result_count == 1 && e.operand_count > 0 &&
           fusible(graph_, e);
  }
  void read(ValueId v, const Reader& reader);
  bool comes_apart(const Eqn& e) const;
  bool is_repeated_row(ValueId v) const;
  ValueId made(ValueId v, const Reader& reader);
  ValueId gathered(ValueId from, GatherParams p, const Eqn& gather);
  ValueId of_repeated(const Eqn& e, const Eqn& gather);
  ValueId of_part(const Eqn& e, const Eqn& gather);
  ValueId of_permuted(const Eqn& e, const Eqn& gather);

  const Graph& graph_;
  std::vector<Wanted> wanted_;  // by value
  GraphBuilder builder_;
  GraphCopy copy_{builder_, graph_};
  std::map<std::tuple<ValueId, const Eqn*, std::string>, ValueId> made_;  // the text of the shape
};

/// Once for each reader, however many ways lead from it to the value.
void Pushing::read(ValueId v, const Reader& reader) {
  auto& readers = wanted_[v].readers;
  if (std::ranges::find(readers, reader) == readers.end()) readers.push_back(reader);
}

/// Whether source axes of a broadcast that gathers index are there as they are, or not at all.
bool is_along_rows(const Graph& graph, const Eqn& e, const Eqn& gather) {
  const auto& indexed = gather.params.as<GatherParams>().start_index_map;
  const auto& p = e.params.as<BroadcastParams>();
  const Shape& source = graph.aval(graph.operands(e)[0]).shape();
  std::size_t there = 0;
  for (std::size_t d = 0; d < source.size(); ++d)
    if (indexed.contains(p.axes[d]) && source[d] == p.shape[static_cast<std::size_t>(p.axes[d])])
      ++there;
    else if (indexed.contains(p.axes[d]))
      return false;
  return there == 0 || there == indexed.size();
}

/// Whether a slice takes a part of each row, so that it would be copied to gather of it; single elements are
/// picked where they are.
bool is_part_of_rows(const Graph& graph, const Eqn& e, const Eqn& gather) {
  const auto& p = gather.params.as<GatherParams>();
  const Shape &from = graph.aval(graph.operands(e)[0]).shape(), &part = graph.aval(e.first_result).shape();
  for (std::int64_t axis = 0; axis < from.rank(); ++axis)
    if ((p.start_index_map.contains(axis) || p.collapsed_slice_dims.contains(axis)) &&
        part[static_cast<std::size_t>(axis)] != from[static_cast<std::size_t>(axis)])
      return false;
  return std::ranges::any_of(p.slice_sizes, [](std::int64_t n) { return n != 1; });
}

/// Whether a value repeats an array, not a number.
bool Pushing::is_repeated_row(ValueId v) const {
  const Eqn* e = graph_.definition(v);
  return e && e->op->view_kind == ViewKind::Repeated && graph_.aval(graph_.operands(*e)[0]).rank() > 0;
}

bool Pushing::comes_apart(const Eqn& e) const {
  if (e.result_count != 1) return false;
  const Wanted& wanted = wanted_[e.first_result];
  if (wanted.whole || wanted.readers.empty()) return false;
  const Shape& shape = graph_.aval(e.first_result).shape();
  bool reshaped = false, rows = true;
  std::int64_t elements = 0;
  for (const Reader& reader : wanted.readers) {
    elements += graph_.aval(reader.gather->first_result).size();
    reshaped |= reader.as != shape;
    rows = rows && axes_of_rows(graph_, *reader.gather);
  }
  const auto each = [&](const auto& holds) {
    return rows && !reshaped && std::ranges::all_of(wanted.readers, [&](const Reader& reader) {
             return holds(graph_, e, *reader.gather);
           });
  };
  const ViewKind view = e.op->view_kind;
  if (view == ViewKind::Part && shape.product() > 0)
    elements *= graph_.aval(graph_.operands(e)[0]).size() / shape.product();
  if (2 * elements > shape.product()) return false;
  if (view == ViewKind::Repeated && !is_repeated_row(e.first_result)) return true;
  if (view == ViewKind::Repeated) return each(is_along_rows);
  if (view == ViewKind::Part) return each(is_part_of_rows);
  if (view == ViewKind::Permuted) return rows && !reshaped;
  if (view == ViewKind::Reshaped) return true;
  const auto repeated = [&](ValueId v) { return is_repeated_row(v); };
  return is_by_element(e) && ((rows && !reshaped) || std::ranges::none_of(graph_.operands(e), repeated));
}

bool Pushing::plan() {
  bool any = false;
  for (ValueId v : graph_.outputs()) wanted_[v].whole = true;
  const auto eqns = graph_.eqns();
  for (auto e = eqns.rbegin(); e != eqns.rend(); ++e) {
    const auto operands = graph_.operands(*e);
    if (is_clipped_gather(*e)) {
      read(operands[0], {&*e, graph_.aval(operands[0]).shape()});
      wanted_[operands[1]].whole = true;
      continue;
    }
    const bool apart = comes_apart(*e);
    const ViewKind view = e->op->view_kind;
    const bool moved = view == ViewKind::Part || view == ViewKind::Permuted || view == ViewKind::Repeated;
    if (apart) {
      wanted_[e->first_result].apart = true;
      any |= view != ViewKind::Repeated && view != ViewKind::Reshaped;
    }
    for (ValueId v : operands) {
      if (!apart || moved)
        wanted_[v].whole = true;
      else
        for (const Reader& reader : wanted_[e->first_result].readers) read(v, reader);
    }
  }
  return any;
}

ValueId Pushing::gathered(ValueId from, GatherParams p, const Eqn& gather) {
  const ValueId of[] = {copy_[from], copy_[graph_.operands(gather)[1]]};
  return append1(builder_, gather_op, make_params(std::move(p)), of, gather.loc);
}

/// The part of rows that are gathered whole.
ValueId Pushing::of_part(const Eqn& e, const Eqn& gather) {
  const ValueId from = graph_.operands(e)[0];
  GatherParams p = gather.params.as<GatherParams>();
  const Dims axes = *axes_of_rows(graph_, gather);
  const Shape& rows = graph_.aval(from).shape();
  const auto& taken = e.params.as<SliceParams>();
  SliceParams part{{}, graph_.aval(gather.first_result).shape(), {}};
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const auto axis = static_cast<std::size_t>(std::max<std::int64_t>(axes[d], 0));
    if (axes[d] >= 0) {
      p.slice_sizes[axis] = rows[axis];
      part.limit[d] = taken.limit[axis];
    }
    part.start.push_back(axes[d] < 0 ? 0 : taken.start[axis]);
    part.stride.push_back(axes[d] < 0 ? 1 : taken.stride[axis]);
  }
  const ValueId whole = gathered(from, std::move(p), gather);
  return append1(builder_, slice_op, make_params(part), {&whole, 1}, gather.loc);
}

/// Rows across the array: indices along another axis, and the axes of the result in their order.
ValueId Pushing::of_permuted(const Eqn& e, const Eqn& gather) {
  const ValueId from = graph_.operands(e)[0];
  const Dims& permutation = e.params.as<TransposeParams>().permutation;
  const Dims axes = *axes_of_rows(graph_, gather);
  const auto source = [&](std::int64_t axis) { return permutation[static_cast<std::size_t>(axis)]; };
  const auto given = gather.params.as<GatherParams>();
  GatherParams p = given;
  for (std::int64_t& axis : p.start_index_map) axis = source(axis);
  for (std::int64_t& axis : p.collapsed_slice_dims) axis = source(axis);
  std::sort(p.collapsed_slice_dims.begin(), p.collapsed_slice_dims.end());
  for (std::size_t d = 0; d < permutation.size(); ++d)
    p.slice_sizes[static_cast<std::size_t>(permutation[d])] = given.slice_sizes[d];
  const std::int64_t index_axes = graph_.aval(graph_.operands(gather)[1]).rank() - 1;
  p.offset_dims = {};
  Dims offset(permutation);  // by axis of the source: the axis of the result
  for (std::int64_t axis = 0; axis < offset.rank(); ++axis)
    if (!p.collapsed_slice_dims.contains(axis)) {
      offset[static_cast<std::size_t>(axis)] = index_axes + p.offset_dims.rank();
      p.offset_dims.push_back(offset[static_cast<std::size_t>(axis)]);
    }
  TransposeParams order;
  std::int64_t next = 0;
  for (std::int64_t axis : axes)
    order.permutation.push_back(axis < 0 ? next++ : offset[static_cast<std::size_t>(source(axis))]);
  const ValueId rows = gathered(from, std::move(p), gather);
  return append1(builder_, transpose_op, make_params(order), {&rows, 1}, gather.loc);
}

/// Rows of a broadcast are rows of its source, or the source, repeated.
ValueId Pushing::of_repeated(const Eqn& e, const Eqn& gather) {
  const auto& repeated = e.params.as<BroadcastParams>();
  const ValueId source = graph_.operands(e)[0], indices = graph_.operands(gather)[1];
  const Shape& from = graph_.aval(source).shape();
  BroadcastParams all{graph_.aval(gather.first_result).shape(), {}};
  if (from.empty()) {
    const ValueId number = copy_[source];
    return append1(builder_, broadcast_in_dim_op, make_params(all), {&number, 1}, gather.loc);
  }
  GatherParams p = gather.params.as<GatherParams>();
  const Dims axes = *axes_of_rows(graph_, gather);
  // By axis of the source: where the result of the gather has it.
  const auto place_of = [&](std::int64_t axis) {
    return static_cast<std::int64_t>(std::ranges::find(axes, axis) - axes.begin());
  };
  Dims offsets;
  for (std::int64_t axis : repeated.axes)
    if (!p.collapsed_slice_dims.contains(axis)) offsets.push_back(place_of(axis));
  if (std::ranges::none_of(repeated.axes, [&](auto axis) { return p.start_index_map.contains(axis); })) {
    // Axes that are dropped have one place; all of what is left is repeated.
    Shape shape;
    for (std::size_t d = 0; d < from.size(); ++d)
      if (!p.collapsed_slice_dims.contains(repeated.axes[d])) shape.push_back(from[d]);
    ValueId number = copy_[source];
    if (shape.size() < from.size())
      number = append1(builder_, reshape_op, make_params(ReshapeParams{shape}), {&number, 1}, gather.loc);
    all.axes = offsets;
    return append1(builder_, broadcast_in_dim_op, make_params(all), {&number, 1}, gather.loc);
  }
  const auto in_source = [&](const Dims& of) {
    Dims found;
    for (std::int64_t axis : of)
      if (const auto at = std::ranges::find(repeated.axes, axis); at != repeated.axes.end())
        found.push_back(at - repeated.axes.begin());
    return found;
  };
  const std::int64_t index_axes = graph_.aval(indices).rank() - 1;
  Dims sizes, dropped = in_source(p.collapsed_slice_dims);
  std::sort(dropped.begin(), dropped.end());
  for (std::size_t d = 0; d < from.size(); ++d)
    sizes.push_back(dropped.contains(static_cast<std::int64_t>(d)) ? 1 : from[d]);
  for (std::int64_t k = 0, place = 0; k < index_axes; ++k, ++place) {
    while (axes[static_cast<std::size_t>(place)] >= 0) ++place;
    all.axes.push_back(place);
  }
  p.start_index_map = in_source(p.start_index_map);
  p.collapsed_slice_dims = dropped;
  p.slice_sizes = sizes;
  p.offset_dims = {};
  for (std::size_t k = 0; k < offsets.size(); ++k) {
    p.offset_dims.push_back(index_axes + static_cast<std::int64_t>(k));
    all.axes.push_back(offsets[k]);
  }
  const ValueId rows = gathered(source, std::move(p), gather);
  return append1(builder_, broadcast_in_dim_op, make_params(all), {&rows, 1}, gather.loc);
}

/// What a gather takes of a value.
ValueId Pushing::made(ValueId v, const Reader& reader) {
  const Eqn& gather = *reader.gather;
  const auto [known, is_new] = made_.try_emplace({v, &gather, to_string(reader.as)}, 0);
  if (!is_new) return known->second;
  ValueId& result = known->second;
  if (!wanted_[v].apart) {
    ValueId of[] = {copy_[v], copy_[graph_.operands(gather)[1]]};
    if (graph_.aval(v).shape() != reader.as)
      of[0] = append1(builder_, reshape_op, make_params(ReshapeParams{reader.as}), {of, 1}, gather.loc);
    return result = append1(builder_, gather_op, gather.params, of, gather.loc);
  }
  const Eqn& e = *graph_.definition(v);
  const ScopeOf scope(e.scope);
  if (e.op->view_kind == ViewKind::Repeated) return result = of_repeated(e, gather);
  if (e.op->view_kind == ViewKind::Part) return result = of_part(e, gather);
  if (e.op->view_kind == ViewKind::Permuted) return result = of_permuted(e, gather);
  if (e.op->view_kind == ViewKind::Reshaped) return result = made(graph_.operands(e)[0], reader);
  std::vector<ValueId> operands;
  for (ValueId o : graph_.operands(e)) operands.push_back(made(o, reader));
  return result = append1(builder_, *e.op, e.params, operands, e.loc);
}

GraphRef Pushing::run() {
  copy_.add_inputs();
  for (const Eqn& e : graph_.eqns()) {
    if (e.result_count == 1 && wanted_[e.first_result].apart) continue;
    const ValueId from = e.operand_count > 0 ? graph_.operands(e)[0] : 0;
    if (is_clipped_gather(e) && wanted_[from].apart)
      copy_[e.first_result] = made(from, {&e, graph_.aval(from).shape()});
    else
      copy_.add(e);
  }
  return builder_.finish(copy_.outputs());
}

}  // namespace

GraphRef push_gathers(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), is_clipped_gather)) {
    Pushing pushing(graph);
    if (pushing.plan()) made = pushing.run();
  }
  return with_regions(*made, push_gathers);
}

}  // namespace apsis::detail
