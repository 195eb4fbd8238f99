#include "passes/pick_elements.hpp"

#include <algorithm>

#include "ir/copy.hpp"
#include "ir/regions.hpp"
#include "ops/index_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/pick.hpp"

namespace apsis::detail {
namespace {

/// What has the shape of the indices: the result of a gather, what a scatter brings.
ValueId elements_of(const Graph& graph, const Eqn& e) {
  return e.op->updates >= 0 ? graph.operands(e)[static_cast<std::size_t>(e.op->written)] : e.first_result;
}

/// Whether each index vector means one element, and all long axes of the elements are those of the indices.
bool means_elements(const Graph& graph, const Eqn& e) {
  constexpr std::int64_t few = 32;  // elements, which are written out
  if (!e.op->places) return false;
  const GatherParams& p = e.op->places(e.params);
  const Aval& array = graph.aval(graph.operands(e)[0]);
  const bool only_indices = p.offset_dims.empty() || (e.op->updates < 0 && p.operand_batching_dims.empty());
  return only_indices && graph.aval(elements_of(graph, e)).size() > few && array.size() > 0 &&
         !is_complex(array.dtype()) && p.collapsed_slice_dims.size() + p.operand_batching_dims.size() > 0 &&
         std::ranges::all_of(p.slice_sizes, [](std::int64_t n) { return n == 1; });
}

class Rewriter {
 public:
  Rewriter(GraphBuilder& builder, GraphCopy& copy, const Graph& graph)
      : builder_(builder), copy_(copy), graph_(graph) {}

  void replace(const Eqn& e) {
    const bool puts = e.op->updates >= 0;
    const GatherParams& p = e.op->places(e.params);
    const Shape& shape = graph_.aval(elements_of(graph_, e)).shape();
    const ValueId array = graph_.operands(e)[0];
    std::vector<ValueId> operands = {copy_[array]};
    if (puts) operands.push_back(copy_[elements_of(graph_, e)]);
    PickParams pick{{}, p.mode};
    for (std::size_t k = 0; k < p.start_index_map.size(); ++k) {
      const std::int64_t axis = p.start_index_map[k];
      pick.axes.push_back(axis);
      operands.push_back(entry(graph_.operands(e)[1], static_cast<std::int64_t>(k), shape, e.loc));
    }
    // An axis that the array shares with the indices: the place of the result's element.
    for (std::size_t k = 0; k < p.operand_batching_dims.size(); ++k) {
      pick.axes.push_back(p.operand_batching_dims[k]);
      operands.push_back(append1(builder_, iota_op,
                                 make_params(IotaParams{Dtype::I64, shape, p.start_indices_batching_dims[k]}),
                                 {}, e.loc));
    }
    copy_[e.first_result] =
        puts ? append1(builder_, put_op, make_params(PutParams{pick, e.params.as<ScatterParams>().kind}),
                       operands, e.loc)
             : append1(builder_, pick_op, make_params(pick), operands, e.loc);
  }

  /// Whether the axes that are not indexed have one place.
  static bool covers(const Graph& graph, const Eqn& e) {
    const GatherParams& p = e.op->places(e.params);
    const Shape& shape = graph.aval(graph.operands(e)[0]).shape();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto axis = static_cast<std::int64_t>(d);
      if (shape[d] != 1 && !p.start_index_map.contains(axis) && !p.operand_batching_dims.contains(axis))
        return false;
    }
    return p.start_index_map.size() + p.operand_batching_dims.size() > 0;
  }

 private:
  /// Entry k of all index vectors, as an array of this shape.
  ValueId entry(ValueId vectors, std::int64_t k, const Shape& shape, Loc loc) {
    const Eqn* made = graph_.definition(vectors);
    const std::int64_t last = static_cast<std::int64_t>(graph_.aval(vectors).rank()) - 1;
    if (made && made->op->joins && made->params.as<ConcatenateParams>().axis == last) {
      for (ValueId part : graph_.operands(*made)) {
        const std::int64_t entries = graph_.aval(part).shape().back();
        if (k < entries) return entry(part, k, shape, loc);
        k -= entries;
      }
    }
    if (made && made->op->view_kind == ViewKind::Reshaped &&
        graph_.aval(graph_.operands(*made)[0]).shape() == shape)
      return copy_[graph_.operands(*made)[0]];
    ValueId column = copy_[vectors];
    Shape one = graph_.aval(vectors).shape();
    if (one.back() > 1) {
      SliceParams slice{Dims::filled(one.size(), 0), one, Dims::filled(one.size(), 1)};
      slice.start[static_cast<std::size_t>(last)] = k;
      slice.limit[static_cast<std::size_t>(last)] = k + 1;
      column = append1(builder_, slice_op, make_params(slice), {&column, 1}, loc);
    }
    return append1(builder_, reshape_op, make_params(ReshapeParams{shape}), {&column, 1}, loc);
  }

  GraphBuilder& builder_;
  GraphCopy& copy_;
  const Graph& graph_;
};

/// Whether a scatter had better be a kernel's, which adds up twice as fast: one index for each of so few
/// elements that the indices stay in the last cache.
bool is_kernels(const Graph& graph, const Eqn& e) {
  constexpr std::int64_t many = 1 << 22;
  const GatherParams& p = e.op->places(e.params);
  return p.start_index_map.size() == 1 && p.operand_batching_dims.empty() &&
         graph.aval(elements_of(graph, e)).size() < many;
}

/// `by_lane`: of lanes, each of which has its own array to put elements into, and they stay scatters.
GraphRef rewritten(const Graph& graph, bool by_lane) {
  const auto changes = [&](const Eqn& e) {
    if (!means_elements(graph, e) || !Rewriter::covers(graph, e)) return false;
    return e.op->updates < 0 || (!by_lane && !is_kernels(graph, e));
  };
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), changes)) {
    GraphBuilder builder;
    GraphCopy copy(builder, graph);
    copy.add_inputs();
    Rewriter rewriter(builder, copy, graph);
    for (const Eqn& e : graph.eqns()) changes(e) ? rewriter.replace(e) : copy.add(e);
    made = builder.finish(copy.outputs());
  }
  bool changed = false;
  std::vector<Params> params;
  for (const Eqn& e : made->eqns())
    params.push_back(map_regions(e.params, [&](const Graph& region) {
      GraphRef of_region = rewritten(region, by_lane || e.op->kind == OpKind::MapLanes);
      changed = changed || of_region.get() != &region;
      return of_region;
    }));
  return changed ? with_params(*made, params) : made;
}

}  // namespace

GraphRef pick_elements(const Graph& graph) { return rewritten(graph, false); }

}  // namespace apsis::detail
