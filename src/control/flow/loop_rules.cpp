#include "control/flow/loop_rules.hpp"

#include <algorithm>

#include "base/place.hpp"
#include "control/common/messages.hpp"
#include "control/effects/callback.hpp"
#include "control/flow/lane_loops.hpp"
#include "core/list.hpp"
#include "ops/lax.hpp"
#include "transform/batch/batch.hpp"

namespace apsis::detail {

void check_carry(const char* op, std::span<const Aval> carry, std::span<const Aval> results) {
  for (std::size_t i = 0; i < carry.size(); ++i) {
    std::string got = i < results.size() ? to_string(results[i]) : "missing";
    if (i >= results.size() || results[i].dtype() != carry[i].dtype() ||
        results[i].shape() != carry[i].shape() || results[i].list() != carry[i].list())
      fail(messages::carry_mismatch, {op, "part " + std::to_string(i), to_string(carry[i]), got});
  }
}

std::vector<bool> slice_mask(const std::vector<bool>& mask, std::size_t from, std::size_t count) {
  auto begin = mask.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

std::vector<bool> dependence(const Graph& graph, const std::vector<bool>& in_mask) {
  std::vector<bool> depends = in_mask, out;
  depends.resize(graph.value_count(), false);
  for (const Eqn& e : graph.eqns()) {
    bool any = false;
    for (ValueId v : graph.operands(e)) any |= depends[v];
    for (std::uint32_t r = 0; r < e.result_count; ++r) depends[e.first_result + r] = any;
  }
  for (ValueId v : graph.outputs()) out.push_back(depends[v]);
  return out;
}

void mark_dependent_carries(const Graph& body, std::vector<bool>& in_mask, std::size_t consts,
                            std::size_t carries) {
  for (bool settled = false; !settled;) {
    settled = true;
    const std::vector<bool> out = dependence(body, in_mask);
    for (std::size_t c = 0; c < carries; ++c) {
      if (!out[c] || in_mask[consts + c]) continue;
      in_mask[consts + c] = true;
      settled = false;
    }
  }
}

std::string this_loop() {
  const Loc loc = current_place();
  return loc.known() ? std::string("a loop at ") + loc.file + ":" + std::to_string(loc.line) : "a loop";
}

SplitLoop::SplitLoop(const Graph& body, const LinearizeRule& r, std::size_t first, std::size_t all_consts,
                     std::size_t all_carries)
    : in_mask(not_empty(r.tangents.subspan(first))), consts(all_consts), carries(all_carries) {
  const Marked what = marked_operands(r);
  carry_fixpoint(
      in_mask, all_consts, all_carries, out_mask,
      [&](const std::vector<bool>& ins, const std::vector<bool>& instantiate, std::vector<bool>& found) {
        static_cast<Split&>(*this) = split(body, ins, what, Keep::Nothing, instantiate);
        found = out_mask;
        return linear;
      },
      r.outs.size());
  for (std::size_t i = 0; i < in_mask.size(); ++i) {
    const Array &primal = r.primals[first + i], &tangent = r.tangents[first + i];
    const bool is_const = i < all_consts, is_carry = !is_const && i < all_consts + all_carries;
    if (what == Marked::Moving || !in_mask[i]) {
      operands.push_back(primal);
    } else {
      consts -= is_const;
      carries -= is_carry;
    }
    if (!in_mask[i]) continue;
    auto& group = is_const ? tangents.consts : is_carry ? tangents.carry : tangents.xs;
    // A carry that comes to depend on others starts from what is known, or has no tangent yet.
    if (tangent.is_empty())
      group.push_back(what == Marked::Moving ? lax::full_like(primal.aval(), 0) : primal);
    else
      group.push_back(tangent);
  }
}

std::size_t Widening::moving(int group) const {
  return copies_ * count(slice_mask(in_mask_, start(group), groups_[static_cast<std::size_t>(group)]));
}

std::size_t Widening::width(int group) const {
  return groups_[static_cast<std::size_t>(group)] + moving(group);
}

GraphRef Widening::interleave(const Graph& jvp_body) const {
  std::vector<Aval> old = input_avals(jvp_body), avals;
  std::size_t inputs = in_mask_.size(), tangent = inputs;
  auto take = [&](std::size_t from, std::size_t n) {
    avals.insert(avals.end(), old.begin() + static_cast<std::ptrdiff_t>(from),
                 old.begin() + static_cast<std::ptrdiff_t>(from + n));
  };
  for (int g = 0; g < 3; ++g) {
    take(start(g), groups_[static_cast<std::size_t>(g)]);
    take(tangent, moving(g));
    tangent += moving(g);
  }
  std::size_t outputs = out_mask_.size();
  auto wire = [&](std::span<const Array> in) {
    std::vector<Array> primals, tangents;
    std::size_t at = 0;
    for (int g = 0; g < 3; ++g) {
      std::size_t n = groups_[static_cast<std::size_t>(g)];
      append(primals, in.subspan(at, n));
      append(tangents, in.subspan(at + n, moving(g)));
      at += width(g);
    }
    append(primals, tangents);
    std::vector<Array> found = interpret(jvp_body, primals), outs;
    std::size_t carries = groups_[1], carry_tangents = moving_carries();
    auto all = std::span<const Array>(found);
    append(outs, all.first(carries));
    append(outs, all.subspan(outputs, carry_tangents));
    append(outs, all.subspan(carries, outputs - carries));
    append(outs, all.subspan(outputs + carry_tangents));
    return outs;
  };
  return rewire(avals, wire);
}

std::vector<Array> Widening::operands(std::span<const Array> primals, std::span<const Array> tangents) const {
  std::vector<Array> out;
  std::size_t next = 0;
  for (int g = 0; g < 3; ++g) {
    append(out, primals.subspan(start(g), groups_[static_cast<std::size_t>(g)]));
    append(out, tangents.subspan(next, moving(g)));
    next += moving(g);
  }
  return out;
}

std::vector<Array> Widening::tangents_last(std::span<const Array> results) const {
  std::size_t carries = groups_[1], carry_tangents = moving_carries(), ys = out_mask_.size() - carries;
  std::vector<Array> out;
  append(out, results.first(carries));
  append(out, results.subspan(carries + carry_tangents, ys));
  append(out, results.subspan(carries, carry_tangents));
  append(out, results.subspan(carries + carry_tangents + ys));
  return out;
}

bool records_lanes(const Graph& body) {
  return std::ranges::any_of(body.outputs(), [&](ValueId v) { return of_lanes(body.aval(v).list()); });
}

bool lists_by_lane(const BatchRule& r) {
  for (std::size_t i = 0; i < r.operands.size(); ++i)
    if (r.axes[i] >= 0 && r.axes[i] < lane_levels(r.operands[i].aval().list())) return true;
  return false;
}

namespace {

Array bind_mapped(const Array& mapped, const Array& shared, std::int64_t lanes,
                  Array (*program)(const Array&, const Array&, int), int axis) {
  const Aval avals[] = {unstacked(mapped.aval()), shared.aval()};
  MapLanesParams p;
  p.lanes = lanes;
  p.in_axes = {0, -1};
  p.region =
      rewire(avals, [&](std::span<const Array> in) { return std::vector{program(in[0], in[1], axis)}; });
  const Array operands[] = {mapped, shared};
  return bind_all(map_lanes_op, make_params(std::move(p)), operands)[0];
}

/// Entry `k` along `axis` of an array, of all arrays of a list, or of those of the lists of all lanes.
Array taken_at(const Array& a, const Array& k, int axis) {
  const ListKind list = a.aval().list();
  if (list == ListKind::None) return lax::dynamic_index(lax::move_axis(a, axis, 0), k);
  if (of_lanes(list)) return bind_mapped(a, k, a.shape()[0], taken_at, axis - 1);
  const Aval avals[] = {k.aval(), entry_aval(a.aval())};
  const auto body = [&](std::span<const Array> in) { return std::vector{taken_at(in[1], in[0], axis)}; };
  const Array operands[] = {k, a};
  return bind_all(scan_op, make_params(ScanParams{rewire(avals, body), 1, 0, -1, false}), operands)[0];
}

/// Of a list whose entries have the mapped axis, a list for each lane.
Array list_by_lane(const Array& list, int axis, std::int64_t lanes) {
  const auto taken = [](const Array& k, const Array& all, int at) { return taken_at(all, k, at); };
  return bind_mapped(lax::iota(Dtype::I64, {lanes}, 0), list, lanes, taken, axis);
}

}  // namespace

void batch_as_lanes(const Op& op, const BatchRule& r) {
  if (uses_axis(op, r.params, r.size.name)) fail(messages::lockstep_tape, {std::string(r.size.name)});
  MapLanesParams p;
  p.lanes = r.size;
  std::vector<Array> operands;
  std::vector<Aval> lane_avals;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    const Array& a = r.operands[i];
    const bool mapped = r.axes[i] >= 0, by_entry = mapped && r.axes[i] >= lane_levels(a.aval().list());
    if (by_entry && a.aval().is_list())
      operands.push_back(list_by_lane(a, r.axes[i], r.size));
    else
      operands.push_back(mapped ? with_axis(a, r.axes[i], 0, r.size) : a);
    lane_avals.push_back(mapped ? unstacked(operands.back().aval()) : operands.back().aval());
    p.in_axes.push_back(mapped ? 0 : -1);
  }
  auto body = [&](std::span<const Array> in) { return bind_all(op, r.params, in); };
  p.region = with_lane_products(stage_with(body, lane_avals, "map_lanes").graph);
  refuse_ordered(*p.region);
  r.outs = bind_all(map_lanes_op, make_params(p), operands);
  r.out_axes.assign(r.outs.size(), 0);
}

bool batch_of_one(const Op& op, const BatchRule& r) {
  if (r.size != 1 || uses_axis(op, r.params, r.size.name)) return false;
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    const Array& a = r.operands[i];
    if (r.axes[i] >= 0 && a.aval().is_list()) return false;
    operands.push_back(r.axes[i] < 0 ? a : lax::squeeze_axis(a, r.axes[i]));
  }
  for (const Array& out : bind_all(op, r.params, operands)) {
    const bool list = out.aval().is_list();
    r.outs.push_back(list ? out : lax::expand_axis(out, 0));
    r.out_axes.push_back(list ? -1 : 0);
  }
  return true;
}

}  // namespace apsis::detail
