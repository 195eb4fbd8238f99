#include "passes/spread_extrema.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ops/convert_params.hpp"
#include "ops/index_params.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "passes/analysis/fusible.hpp"

namespace apsis::detail {
namespace {

struct Extremum {
  const Op *place, *value;
  const Op* beats;  // a later element takes an earlier one's place
};
constexpr Extremum extrema[] = {{&argmax_op, &reduce_max_op, &gt_op}, {&argmin_op, &reduce_min_op, &lt_op}};

const Extremum* extremum_of(const Graph& graph, const Eqn& e) {
  const auto known = std::ranges::find(extrema, e.op, &Extremum::place);
  if (known == std::end(extrema) || in_registers(graph.aval(graph.operands(e)[0]), usual_register_limit))
    return nullptr;
  return known;
}

/// Writes one of them.
class Spreading {
 public:
  Spreading(GraphBuilder& builder, const Extremum& extremum, const Aval& from, ValueId array,
            std::int64_t axis, Loc loc)
      : builder_(builder),
        extremum_(extremum),
        from_(from),
        array_(array),
        axis_(static_cast<std::size_t>(axis)),
        loc_(loc) {
    for (std::size_t d = 0; d < from.shape().size(); ++d)
      if (d != axis_) {
        kept_.push_back(from.shape()[d]);
        kept_axes_.push_back(static_cast<std::int64_t>(d));
      }
  }

  /// Places fit into half of an i64 where the axis is not longer.
  ValueId places() {
    constexpr std::int64_t short_axis = 16;
    if (from_.dtype() == Dtype::Bool) {
      from_ = Aval(Dtype::I8, from_.shape());
      array_ = add(convert_op, {array_}, make_params(ConvertParams{Dtype::I8, false}));
    }
    const std::int64_t length = from_.shape()[axis_];
    const Dtype dtype = length < std::numeric_limits<std::int32_t>::max() ? Dtype::I32 : Dtype::I64;
    const ValueId found = length <= short_axis ? by_comparisons(dtype) : by_value(dtype);
    return dtype == Dtype::I64 ? found
                               : add(convert_op, {found}, make_params(ConvertParams{Dtype::I64, false}));
  }

 private:
  /// Entry after entry: one that beats the best, or is the first NaN.
  ValueId by_comparisons(Dtype dtype) {
    ValueId best = entry(0), place = everywhere(dtype, 0, kept_);
    for (std::int64_t k = 1; k < from_.shape()[axis_]; ++k) {
      const ValueId x = entry(k);
      ValueId better = add(*extremum_.beats, {x, best});
      if (is_floating(from_.dtype()))
        better = add(bit_or_op, {better, add(bit_and_op, {add(ne_op, {x, x}), add(eq_op, {best, best})})});
      place = add(select_op, {better, everywhere(dtype, k, kept_), place});
      best = add(select_op, {better, x, best});
    }
    return place;
  }

  ValueId entry(std::int64_t k) {
    SliceParams slice{Dims::filled(from_.shape().size(), 0), Dims(from_.shape()),
                      Dims::filled(from_.shape().size(), 1)};
    slice.start[axis_] = k;
    slice.limit[axis_] = k + 1;
    const ValueId part = add(slice_op, {array_}, make_params(slice));
    return add(reshape_op, {part}, make_params(ReshapeParams{kept_}));
  }

  /// The extremum is NaN if there is one.
  ValueId by_value(Dtype dtype) {
    const Shape& shape = from_.shape();
    const Dims axes{static_cast<std::int64_t>(axis_)};
    const ValueId value = add(*extremum_.value, {array_}, make_params(ReduceParams{axes}));
    const ValueId spread = add(broadcast_in_dim_op, {value}, make_params(BroadcastParams{shape, kept_axes_}));
    ValueId there = add(eq_op, {array_, spread});
    if (is_floating(from_.dtype())) there = add(bit_or_op, {there, add(ne_op, {array_, array_})});
    const ValueId number = add(iota_op, {}, make_params(IotaParams{dtype, shape, axes[0]}));
    const ValueId places = add(select_op, {there, number, everywhere(dtype, shape[axis_], shape)});
    return add(reduce_min_op, {places}, make_params(ReduceParams{axes}));
  }

  ValueId everywhere(Dtype dtype, std::int64_t number, const Shape& shape) {
    const ValueId one = add(constant_op, {},
                            make_params(ConstantParams{dtype, false, static_cast<std::uint64_t>(number), 0}));
    return add(broadcast_in_dim_op, {one}, make_params(BroadcastParams{shape, {}}));
  }
  ValueId add(const Op& op, std::initializer_list<ValueId> operands, const Params& params = {}) {
    return append1(builder_, op, params, {operands.begin(), operands.size()}, loc_);
  }

  GraphBuilder& builder_;
  const Extremum& extremum_;
  Aval from_;
  ValueId array_;
  std::size_t axis_;
  Loc loc_;
  Shape kept_;
  Dims kept_axes_;
};

}  // namespace

GraphRef spread_extrema(const Graph& graph) {
  GraphRef made(&graph);
  if (std::ranges::any_of(graph.eqns(), [&](const Eqn& e) { return extremum_of(graph, e) != nullptr; })) {
    GraphBuilder builder;
    GraphCopy copy(builder, graph);
    copy.add_inputs();
    for (const Eqn& e : graph.eqns()) {
      const Extremum* const extremum = extremum_of(graph, e);
      if (!extremum) {
        copy.add(e);
        continue;
      }
      const ScopeOf scope(e.scope);
      const ValueId array = graph.operands(e)[0];
      copy[e.first_result] = Spreading(builder, *extremum, graph.aval(array), copy[array],
                                       e.params.as<ArgReduceParams>().axis, e.loc)
                                 .places();
    }
    made = builder.finish(copy.outputs());
  }
  return with_regions(*made, spread_extrema);
}

}  // namespace apsis::detail
