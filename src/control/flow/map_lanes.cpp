// map_lanes: one region run for each of many lanes, each at its own pace.

#include <algorithm>

#include "control/common/messages.hpp"
#include "control/common/regions.hpp"
#include "control/flow/lane_loops.hpp"
#include "control/flow/loop_rules.hpp"
#include "core/list.hpp"
#include "ir/copy.hpp"
#include "ir/effects.hpp"
#include "ops/lax.hpp"
#include "runtime/region.hpp"
#include "transform/batch/batch.hpp"
#include "transform/derivatives/jet.hpp"
#include "transform/derivatives/jvp.hpp"
#include "transform/derivatives/split.hpp"
#include "transform/derivatives/transpose.hpp"

namespace apsis::detail {
namespace {

const MapLanesParams& lanes_of(const Params& params) { return params.as<MapLanesParams>(); }

void map_lanes_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = lanes_of(params);
  APSIS_ASSERT(p.region && p.lanes >= 0 && p.in_axes.size() == in.size());
  APSIS_ASSERT(p.nest.empty() || p.nest.product() == p.lanes);
  for (std::size_t i = 0; i < in.size(); ++i)
    APSIS_ASSERT(p.in_axes[i] == -1 ||
                 (p.in_axes[i] == 0 && in[i].rank() > 0 && in[i].shape()[0] == p.lanes &&
                  (!in[i].is_list() || of_lanes(in[i].list()))));
  std::vector<Aval> lane;
  for (std::size_t i = 0; i < in.size(); ++i) lane.push_back(p.in_axes[i] < 0 ? in[i] : unstacked(in[i]));
  check_region_operands("map_lanes", *p.region, lane);
  for (const Aval& a : output_avals(*p.region)) out.push_back(stacked(a, p.lanes));
}

void map_lanes_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (run_compiled(map_lanes_op, params, in, out)) return;
  const auto& p = lanes_of(params);
  std::vector<std::vector<Array>> lists(out.size());
  std::vector<Array> lane(in.begin(), in.end());
  for (std::int64_t l = 0; l < p.lanes; ++l) {
    for (std::size_t i = 0; i < in.size(); ++i)
      if (p.in_axes[i] >= 0) lane[i] = entry_of(in[i], l);
    LaneScope here(l, {p.nest.data(), p.nest.size()});
    std::vector<Array> results = interpret(*p.region, lane);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (results[i].aval().is_list())
        lists[i].push_back(results[i]);
      else
        store_entry(out[i], l, results[i]);
    }
  }
  std::vector<Aval> results = output_avals(*p.region);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (results[i].is_list()) out[i] = make_list(stacked(results[i], p.lanes), std::move(lists[i]));
}

Dims marked_axes(const Dims& axes, const std::vector<bool>& mask) {
  Dims out;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (mask[i]) out.push_back(axes[i]);
  return out;
}

Dims concatenated(Dims a, const Dims& b) {
  for (std::int64_t x : b) a.push_back(x);
  return a;
}

/// What a lane gives as it was given it, the tape that a derivative keeps for the next one above all, is the
/// operand: lanes have no part in it. The lanes are those of `p`.
std::vector<Array> bind_lanes(const GraphRef& region, const MapLanesParams& p, const Dims& in_axes,
                              std::span<const Array> operands) {
  const auto given = [&](ValueId v) { return v < region->input_count() && in_axes[v] >= 0; };
  std::vector<bool> made;
  for (ValueId v : region->outputs()) made.push_back(!given(v));
  std::vector<Array> results, all;
  if (count(made) > 0 || region->has_effect()) {
    const GraphRef rest = count(made) == made.size() ? region : with_outputs(*region, made);
    results =
        bind_all(map_lanes_op,
                 make_params(MapLanesParams{with_lane_products(rest), p.lanes, in_axes, p.nest}), operands);
  }
  for (std::size_t i = 0, next = 0; i < made.size(); ++i)
    all.push_back(made[i] ? results[next++] : operands[region->outputs()[i]]);
  return all;
}

void map_lanes_jvp(const JvpRule& r) {
  const auto& p = lanes_of(r.params);
  std::vector<bool> in_mask = not_empty(r.tangents), out_mask;
  GraphRef region = jvp_graph(*p.region, in_mask, std::vector<bool>(r.outs.size(), false), out_mask);
  std::vector<Array> operands(r.primals.begin(), r.primals.end());
  append(operands, marked(r.tangents, in_mask));
  std::vector<Array> results =
      bind_lanes(region, p, concatenated(p.in_axes, marked_axes(p.in_axes, in_mask)), operands);
  std::size_t next = r.outs.size();
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    r.outs[i] = results[i];
    if (out_mask[i]) r.out_tangents[i] = results[next++];
  }
}

void map_lanes_linearize(const LinearizeRule& r) {
  const auto& p = lanes_of(r.params);
  const SplitCall split(*p.region, r);
  const Dims known_axes = marked_axes(p.in_axes, split.known_operands);
  const std::size_t outs = count(split.known_mask);
  // Residuals that do not depend on the lane, weights above all, are no lane's own.
  std::vector<bool> mapped, by_lane(split.known->outputs().size(), true);
  for (std::int64_t axis : known_axes) mapped.push_back(axis >= 0);
  if (!split.known->has_effect()) by_lane = dependence(*split.known, mapped);
  std::fill_n(by_lane.begin(), outs, true);
  std::vector<bool> common = by_lane;
  common.flip();
  std::vector<Array> shared, results;
  if (count(common) > 0) shared = interpret(*with_outputs(*split.known, common), split.known_in);
  if (count(by_lane) > 0 || split.known->has_effect())
    results = bind_lanes(with_outputs(*split.known, by_lane), p, known_axes, split.known_in);
  std::vector<Array> operands = split.tangents_in;
  Dims axes = marked_axes(p.in_axes, split.tangent_operands);
  for (std::size_t i = outs, own = i, next = 0; i < by_lane.size(); ++i) {
    operands.push_back(by_lane[i] ? results[own++] : shared[next++]);
    axes.push_back(by_lane[i] ? 0 : -1);
  }
  TraceScope scope(r.tangent_trace);
  split.take(r, results, bind_lanes(split.linear, p, axes, operands));
}

/// Those of a lane: without the axis of the lanes, which comes first, where a condition has it. `mapped`
/// grows by the mapped axis of each.
Conditions conditions_of_lane(const TransposeRule& r, Dims& mapped) {
  Conditions found(r, true);
  std::vector<std::size_t> lanes(found.arrays.size());
  for (GivenConditions::Use& use : found.given.of_outputs) {
    if (use.which < 0) continue;
    const auto first = std::ranges::find(use.axes, 0);
    const auto at = static_cast<std::size_t>(first - use.axes.begin());
    lanes[static_cast<std::size_t>(use.which)] = at;
    if (at < use.axes.size()) use.axes.erase(at);
    for (std::int64_t& axis : use.axes) --axis;
  }
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    Array& holds = found.arrays[k];
    const bool by_lane = lanes[k] < static_cast<std::size_t>(holds.ndim());
    if (by_lane) {
      if (lanes[k] > 0) holds = lax::move_axis(holds, static_cast<int>(lanes[k]), 0);
      found.given.avals[k] = unstacked(holds.aval());
    }
    mapped.push_back(by_lane ? 0 : -1);
  }
  return found;
}

void map_lanes_transpose(const TransposeRule& r) {
  const auto& p = lanes_of(r.params);
  TransposeRequest request{.linear = linear_operands(r), .cotangents = not_empty(r.cotangents)};
  const std::vector<bool> plain = negated(request.linear);
  std::vector<bool> shared;  // by linear operand: the cotangents of all lanes are added up
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i]) continue;
    shared.push_back(p.in_axes[i] < 0);
    request.conditional.push_back({shared.back() ? Conditional::no : Conditional::any});
  }
  Dims axes = concatenated(marked_axes(p.in_axes, plain), Dims::filled(count(request.cotangents), 0));
  const Conditions conditions = conditions_of_lane(r, axes);
  request.given = conditions.given;
  const auto [region, out_mask] = transpose_graph(*p.region, request);
  std::vector<Array> operands = marked(r.operands, plain);
  append(operands, marked(r.cotangents, request.cotangents));
  append(operands, conditions.arrays);
  std::vector<Array> found = bind_lanes(region, p, axes, operands);
  share_values(*region, {}, found);
  for (std::size_t k = 0, out = 0; k < shared.size(); ++k) {
    if (!out_mask[k]) continue;
    Array& cotangent = found[out++];
    if (!shared[k]) continue;
    if (cotangent.aval().is_list()) fail(messages::sum_of_tapes, {});
    cotangent = lax::reduce_sum(cotangent, {0});
  }
  take_cotangents(r, 0, found, out_mask);
}

void map_lanes_jet(const JetRule& r) {
  const auto& p = lanes_of(r.params);
  std::vector<bool> in_mask = has_series(r.series), out_mask;
  GraphRef region = jet_graph(*p.region, r.order, in_mask, std::vector<bool>(r.outs.size(), false), out_mask);
  std::vector<Array> operands(r.primals.begin(), r.primals.end());
  append(operands, series_of(r.primals, r.series, r.order, in_mask));
  Dims axes = p.in_axes;
  for (std::size_t i = 0; i < in_mask.size(); ++i)
    for (std::size_t k = 0; in_mask[i] && k < r.order; ++k) axes.push_back(p.in_axes[i]);
  take_jets(bind_lanes(region, p, axes, operands), out_mask, r);
}

/// The region for all lanes of another axis at once.
GraphRef region_inside(const BatchRule& r, std::vector<bool>& out_mask) {
  const auto& p = lanes_of(r.params);
  std::vector<bool> in_mask;
  for (int axis : r.axes) in_mask.push_back(axis >= 0);
  return batch_graph(*p.region, r.size, in_mask, std::vector<bool>(p.region->outputs().size(), false),
                     out_mask);
}

/// The lanes of another axis that work together: each lane runs for all of them at once.
void batch_inside(const BatchRule& r, const GraphRef& region, const std::vector<bool>& out_mask) {
  const auto& p = lanes_of(r.params);
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    int to = p.in_axes[i] < 0 ? 0 : 1;  // the lanes keep their axis in front
    operands.push_back(r.axes[i] >= 0 ? with_axis(r.operands[i], r.axes[i], to, r.size) : r.operands[i]);
  }
  r.outs = bind_lanes(region, p, p.in_axes, operands);
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    const Aval &all = region->aval(region->outputs()[i]), &one = p.region->aval(p.region->outputs()[i]);
    r.out_axes.push_back(out_mask[i] ? 1 + mapped_place(all, one) : -1);
  }
}

/// Lanes that are to work in lockstep do so within each lane of the other axis, if nothing keeps them from
/// it.
bool goes_inside(const MapLanesParams& p) {
  if (lane_loops() != LaneLoops::Lockstep || p.region->has_effect()) return false;
  const auto is_list = [](const Aval& a) { return a.is_list(); };
  return std::ranges::none_of(input_avals(*p.region), is_list) &&
         std::ranges::none_of(output_avals(*p.region), is_list);
}

/// Lists that all lanes of another axis share, the tape under the directions of a Jacobian above all: they
/// are gone through once, for all directions. So the cotangents of the lists are sums within each entry,
/// where lanes around would each have lists of their own to be added up.
bool batch_over_lists(const BatchRule& r) {
  const auto& p = lanes_of(r.params);
  if (lists_by_lane(r)) return false;
  std::vector<bool> out_mask;
  const GraphRef region = region_inside(r, out_mask);
  for (std::size_t i = 0; i < out_mask.size(); ++i)
    if (region->aval(region->outputs()[i]).list() != p.region->aval(p.region->outputs()[i]).list())
      return false;  // each direction at its own pace
  batch_inside(r, region, out_mask);
  return true;
}

// More lanes: the two lane axes become one. Lists have no such reshape; there the lanes nest.
void map_lanes_batch(const BatchRule& r) {
  const auto& p = lanes_of(r.params);
  if (uses_axis(*p.region, r.size.name) || goes_inside(p)) {
    std::vector<bool> out_mask;
    const GraphRef region = region_inside(r, out_mask);
    return batch_inside(r, region, out_mask);
  }
  const auto is_list = [](const Array& a) { return a.aval().is_list(); };
  if (std::ranges::any_of(r.operands, is_list))
    return batch_over_lists(r) ? void() : batch_as_lanes(map_lanes_op, r);
  if (std::ranges::any_of(output_avals(*p.region), [](const Aval& a) { return a.is_list(); }))
    return batch_as_lanes(map_lanes_op, r);
  std::vector<Array> operands;
  Dims axes;
  MapLanesParams all = p;
  all.lanes = r.size * p.lanes;
  if (all.nest.empty()) all.nest = {p.lanes};
  all.nest.insert(0, r.size);
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    Array a = r.operands[i];
    bool mapped = r.axes[i] >= 0, lane = p.in_axes[i] >= 0;
    axes.push_back(mapped || lane ? 0 : -1);
    if (mapped || lane) {
      a = with_axis(a, r.axes[i], 0, r.size);
      if (!lane) {
        Shape shape = a.shape();
        shape.insert(1, p.lanes);
        Dims places = Dims::counting(static_cast<std::size_t>(a.ndim()));
        for (std::size_t k = 1; k < places.size(); ++k) ++places[k];
        a = lax::broadcast_in_dim(a, shape, places);
      }
      Shape flat = a.shape();
      flat.erase(0);
      flat[0] = all.lanes;
      a = lax::reshape(a, flat);
    }
    operands.push_back(a);
  }
  for (Array& out : bind_lanes(p.region, all, axes, operands)) {
    Shape shape = out.shape();
    shape[0] = p.lanes;
    shape.insert(0, r.size);
    r.outs.push_back(lax::reshape(out, shape));
    r.out_axes.push_back(0);
  }
}

}  // namespace

const Op map_lanes_op = {
    .name = "map_lanes",
    .kind = OpKind::MapLanes,
    .shape = map_lanes_shape,
    .evaluate = map_lanes_evaluate,
    .jvp = map_lanes_jvp,
    .linearize = map_lanes_linearize,
    .transpose = map_lanes_transpose,
    .batch = map_lanes_batch,
    .jet = map_lanes_jet,
    .parse = parse_params<MapLanesParams>,
    .takes_conditions = true,
};

}  // namespace apsis::detail
