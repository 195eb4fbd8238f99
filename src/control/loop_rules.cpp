#include "control/loop_rules.hpp"

#include "control/messages.hpp"
#include "ops/lax.hpp"
#include "transform/batch.hpp"

namespace apsis::detail {

void check_carry(const char* op, std::span<const Aval> carry, std::span<const Aval> results) {
  for (std::size_t i = 0; i < carry.size(); ++i) {
    std::string got = i < results.size() ? to_string(results[i]) : "missing";
    if (i >= results.size() || results[i].dtype() != carry[i].dtype() ||
        results[i].shape() != carry[i].shape())
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

std::size_t Widening::width(int group) const {
  auto g = static_cast<std::size_t>(group);
  return groups_[g] + count(slice_mask(in_mask_, start(group), groups_[g]));
}

GraphRef Widening::interleave(const Graph& jvp_body) const {
  std::vector<Aval> old = input_avals(jvp_body), avals;
  std::size_t inputs = in_mask_.size(), tangent = inputs;
  for (int g = 0; g < 3; ++g) {
    std::size_t from = start(g), n = groups_[static_cast<std::size_t>(g)];
    for (std::size_t i = from; i < from + n; ++i) avals.push_back(old[i]);
    for (std::size_t i = from; i < from + n; ++i)
      if (in_mask_[i]) avals.push_back(old[tangent++]);
  }
  std::size_t outputs = out_mask_.size();
  auto wire = [&](std::span<const Array> in) {
    std::vector<Array> primals, tangents;
    std::size_t at = 0;
    for (int g = 0; g < 3; ++g) {
      std::size_t from = start(g), n = groups_[static_cast<std::size_t>(g)];
      append(primals, in.subspan(at, n));
      at += n;
      std::size_t marks = count(slice_mask(in_mask_, from, n));
      append(tangents, in.subspan(at, marks));
      at += marks;
    }
    append(primals, tangents);
    std::vector<Array> found = interpret(jvp_body, primals), outs;
    std::size_t carries = groups_[1], carry_tangents = count(slice_mask(out_mask_, 0, carries));
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
  for (int g = 0; g < 3; ++g) {
    std::size_t from = start(g), n = groups_[static_cast<std::size_t>(g)];
    append(out, primals.subspan(from, n));
    append(out, marked(tangents.subspan(from, n), slice_mask(in_mask_, from, n)));
  }
  return out;
}

void Widening::split_results(std::span<const Array> results, std::size_t carries, std::span<Array> outs,
                             std::span<Array> out_tangents) const {
  std::size_t carry_tangents = count(slice_mask(out_mask_, 0, carries));
  std::size_t ys = outs.size() - carries, tangent = carries;
  for (std::size_t i = 0; i < carries; ++i) {
    outs[i] = results[i];
    if (out_mask_[i]) out_tangents[i] = results[tangent++];
  }
  tangent = carries + carry_tangents + ys;
  for (std::size_t i = carries; i < outs.size(); ++i) {
    outs[i] = results[i + carry_tangents];
    if (out_mask_[i]) out_tangents[i] = results[tangent++];
  }
}

void batch_as_lanes(const Op& op, const BatchRule& r) {
  MapLanesParams p;
  p.lanes = r.size;
  std::vector<Array> operands;
  std::vector<Aval> lane_avals;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    bool mapped = r.axes[i] >= 0;
    operands.push_back(mapped ? with_axis(r.operands[i], r.axes[i], 0, r.size) : r.operands[i]);
    lane_avals.push_back(mapped ? unstacked(operands.back().aval()) : operands.back().aval());
    p.in_axes.push_back(mapped ? 0 : -1);
  }
  auto body = [&](std::span<const Array> in) { return bind_all(op, r.params, in); };
  p.region = stage_with(body, lane_avals, "map_lanes").graph;
  r.outs = bind_region(map_lanes_op, make_params(p), operands);
  r.out_axes.assign(r.outs.size(), 0);
}

}  // namespace apsis::detail
