#include "control/flow/lane_loops.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "apsis/base/named_scope.hpp"
#include "ir/copy.hpp"
#include "ir/effects.hpp"
#include "ir/region_flow.hpp"
#include "ops/dot_params.hpp"
#include "ops/lax.hpp"
#include "ops/table.hpp"
#include "passes/analysis/cost.hpp"
#include "passes/analysis/lane_variance.hpp"
#include "passes/analysis/updates.hpp"
#include "transform/batch/batch.hpp"
#include "transform/stage/trace_watch.hpp"

namespace apsis::detail {
namespace {

double elements(const Graph& graph, const Eqn& e) {
  double most = 0;
  for (ValueId v : graph.operands(e))
    if (!graph.aval(v).is_list()) most = std::max(most, static_cast<double>(graph.aval(v).size()));
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (const Aval& a = graph.aval(e.first_result + r); !a.is_list())
      most = std::max(most, static_cast<double>(a.size()));
  return most;
}

/// Which inputs of a region of an equation differ. Regions of rules take the last operands.
std::vector<char> region_inputs(const Graph& region, const Eqn& e, std::span<const char> operands) {
  std::vector<char> in(operands.end() - std::min<std::ptrdiff_t>(region.input_count(), std::ssize(operands)),
                       operands.end());
  in.resize(region.input_count(), 1);
  for (const RegionFlow& flow : region_flows(e)) {
    if (flow.region != &region) continue;
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = operands[flow.operand_of(i)];
    bool apart = false;
    if (flow.runs == Runs::Repeatedly)
      std::ranges::copy(varying_carries(e, operands, apart),
                        in.begin() + static_cast<std::ptrdiff_t>(flow.consts));
  }
  return in;
}

bool fits_lanes(const DotParams& p, const DotSizes& s) {
  return p.k_ordered || s.m * s.n * s.k <= lane_dot_limit;
}

bool has_large_product(const Graph& graph) {
  return std::ranges::any_of(graph.eqns(), [&](const Eqn& e) {
    if (e.op->kind == OpKind::Contract) {
      const Shape &a = graph.aval(graph.operands(e)[0]).shape(),
                  &b = graph.aval(graph.operands(e)[1]).shape();
      const auto& p = e.params.as<DotParams>();
      return !is_k_ordered(p, a, b) && fits_lanes(p, DotSizes(p, a, b));
    }
    bool found = false;
    each_region(e.params, [&](const Graph& region) { found |= has_large_product(region); });
    return found;
  });
}

/// Of an elementwise equation or the like.
double operations_of(const Graph& graph, const Eqn& e) {
  return (e.op->emit ? static_cast<double>(emission_cost(graph, e)) : 1) * elements(graph, e);
}

/// An equation of a loop's body, or of a region in it.
struct Met {
  const Graph& graph;
  const Eqn& eqn;
  std::span<const char> operands;  // which of them differ from lane to lane
  bool own;                        // whether a result does
  bool regions;                    // whether it has regions; their equations are met before
  double times;                    // that it runs in an iteration, by the lengths of the scans around it
};

/// Calls `visit` with each of them; `varying`: the inputs that differ from lane to lane.
template <class Visit>
void meet_equations(const Graph& graph, std::span<const char> varying, const Visit& visit, double times = 1) {
  std::vector<char> values(graph.value_count(), 0), operands;
  std::ranges::copy(varying, values.begin());
  for (const Eqn& e : graph.eqns()) {
    operands.clear();
    for (ValueId v : graph.operands(e)) operands.push_back(values[v]);
    const std::vector<char> results = varying_results(graph, e, operands);
    std::ranges::copy(results, values.begin() + e.first_result);
    const auto length = e.op->kind == OpKind::Scan ? Loop(e).length : 1;
    bool regions = false;
    each_region(e.params, [&](const Graph& region) {
      regions = true;
      meet_equations(region, region_inputs(region, e, operands), visit,
                     times * static_cast<double>(std::max<std::int64_t>(length, 1)));
    });
    const bool own = std::ranges::any_of(results, [](char v) { return v != 0; });
    visit(Met{graph, e, operands, own, regions, times});
  }
}

void add_equation(const Met& m, IterationWork& work) {
  if (m.eqn.op->kind != OpKind::Contract) {
    work.all += m.times * operations_of(m.graph, m.eqn);
    return;
  }
  const auto& p = m.eqn.params.as<DotParams>();
  const auto shape = [&](std::size_t i) -> const Shape& {
    return m.graph.aval(m.graph.operands(m.eqn)[i]).shape();
  };
  const DotSizes sizes(p, shape(0), shape(1));
  const double count = m.times * static_cast<double>(sizes.batch) * static_cast<double>(sizes.m) *
                       static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
  work.all += count;
  if (m.operands[0] != m.operands[1] && !fits_lanes(p, sizes)) work.shared_products += count;
}

std::string operations(double count) {
  std::string digits = std::to_string(std::llround(count));
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

void note(MappedAxis axis, bool apart, bool lanes, const std::string& why) {
  note_choice(this_loop() + ", which " + std::to_string(axis.size) + " lanes leave " +
              (apart ? "at different times" : "together") + ", runs in " +
              (lanes ? "lanes: " : "lockstep: ") + why);
}

/// Elements of an array up to which lanes are as fast as lockstep in reverse mode, too.
constexpr std::int64_t small_array = 64;
/// Up to which a packet's array stays in the second-level cache, and a shared matrix costs reverse mode
/// little: its gradient is a sum over lanes.
constexpr std::int64_t cached_array = 1024, cached_matrix = 4096;
/// The same of loops that are linear in what differs from lane to lane: they keep no tape.
constexpr std::int64_t small_linear_array = 256;
/// Lanes that are enough for all threads.
constexpr std::int64_t many_lanes = 64;

/// The largest array that an equation makes, the largest shared matrix of a product, and the operations that
/// lanes share and do not.
struct Extent {
  std::int64_t largest = 0, shared_matrix = 0;
  double own = 0, shared = 0;
  bool written_out = true;  // no calls
  bool linear = true;       // in what differs from lane to lane
};

/// Whether the equation is linear in the operands that differ from lane to lane, so that reverse mode needs
/// none of their values.
bool is_linear(const Met& m) {
  const Op* op = m.eqn.op;
  const auto differ = std::ranges::count(m.operands, 1);
  if (!m.own || op->kind == OpKind::View || op->joins) return true;
  if (op == &mul_op || op->kind == OpKind::Contract) return differ == 1;
  if (op == &div_op) return !m.operands[1];
  if (op == &fma_op) return !m.operands[0] || !m.operands[1];
  if (op == &select_op) return !m.operands[0];
  return op == &add_op || op == &sub_op || op == &neg_op || op == &pad_op || op == &reduce_sum_op;
}

void extend(const Met& m, Extent& extent) {
  const Eqn& e = m.eqn;
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    if (updated_operand(e, r) >= 0) continue;  // a part of it is made
    const Aval& a = m.graph.aval(e.first_result + r);
    extent.largest = std::max(extent.largest, a.is_list() ? 0 : a.size());
  }
  extent.linear &= !m.regions && is_linear(m);
  if (m.regions) return;
  if (e.op->kind == OpKind::Contract && m.operands[0] != m.operands[1])
    extent.shared_matrix =
        std::max(extent.shared_matrix, m.graph.aval(m.graph.operands(e)[m.operands[0] ? 1 : 0]).size());
  const bool constant = e.op->kind == OpKind::Constant;
  extent.written_out &= constant || e.op->kind == OpKind::View || e.op->emit || e.op->emit_unrolled;
  if (!constant) (m.own ? extent.own : extent.shared) += operations_of(m.graph, e);
}

}  // namespace

GraphRef with_lane_products(const GraphRef& region) {
  if (!has_large_product(*region)) return region;
  const Graph& graph = *region;
  std::vector<Params> params;
  for (const Eqn& e : graph.eqns()) {
    params.push_back(
        map_regions(e.params, [](const Graph& inner) { return with_lane_products(GraphRef(&inner)); }));
    if (e.op->kind != OpKind::Contract) continue;
    auto p = e.params.as<DotParams>();
    p.k_ordered = fits_lanes(
        p, DotSizes(p, graph.aval(graph.operands(e)[0]).shape(), graph.aval(graph.operands(e)[1]).shape()));
    params.back() = make_params(std::move(p));
  }
  return with_params(graph, params);
}

IterationWork work_of(const Graph& graph, std::span<const char> varying) {
  IterationWork work;
  meet_equations(graph, varying, [&](const Met& m) {
    // What all lanes share is computed once in either form.
    if (!m.regions && m.own) add_equation(m, work);
  });
  return work;
}

bool keeps_own_pace(const WhileParams& loop, MappedAxis axis, std::span<const char> varying) {
  const auto choose = [&](bool lanes, const std::string& why) {
    note(axis, true, lanes, why);
    return lanes;
  };
  if (lane_loops() == LaneLoops::Lanes) return choose(true, "so the vmap asks");
  if (static_cast<std::int64_t>(loop.body->outputs().size()) > loop.carries)
    return choose(true, "it keeps a tape, since the gradient is inside of the vmap");
  if (has_effect_in_lanes(*loop.body) || has_effect_in_lanes(*loop.cond))
    return choose(true, "it has effects");
  if (lane_loops() == LaneLoops::Lockstep) return choose(false, "so the vmap asks");
  const IterationWork work = work_of(*loop.body, varying);
  const std::string found = "of the " + operations(work.all) + " operations of an iteration of a lane, " +
                            operations(work.shared_products) + " are large products with shared arrays";
  return choose(2 * work.shared_products <= work.all, found);
}

namespace {

/// Whether the loop is in a function of which reverse mode takes the derivative, as far as that shows.
bool is_reversed(const Graph& body, const BatchRule& r) {
  const auto linearized = [](const Array& a) {
    const Node* n = a.node();
    while (n && n->kind == NodeKind::Jvp) n = static_cast<const DualNode*>(n)->primal.node();
    return n && n->kind == NodeKind::Linearize;
  };
  return std::ranges::any_of(r.operands, linearized) ||
         std::ranges::any_of(body.outputs(), [&](ValueId v) { return body.aval(v).is_list(); });
}

/// Lanes keep what an iteration makes in registers or in the cache; what they share is computed once a
/// packet.
bool lanes_are_faster(const Extent& extent, const Graph& body, const BatchRule& r) {
  constexpr double most_shared = 8;
  if (extent.largest <= small_array) return extent.shared <= most_shared * extent.own;
  return extent.largest <= cached_array && extent.shared_matrix <= cached_matrix &&
         extent.shared <= extent.own && r.size.size >= many_lanes &&
         ((extent.linear && extent.largest <= small_linear_array) || !is_reversed(body, r));
}

bool runs_in_lanes(const Graph& body, const BatchRule& r, std::span<const char> varying) {
  const MappedAxis axis = r.size;
  const auto choose = [&](bool lanes, const std::string& why) {
    note(axis, false, lanes, why);
    return lanes;
  };
  if (has_effect_in_lanes(body)) return choose(false, "it has effects");
  if (lane_loops() != LaneLoops::Automatic)
    return choose(lane_loops() == LaneLoops::Lanes, "so the vmap asks");
  Extent extent;
  meet_equations(body, varying, [&](const Met& m) { extend(m, extent); });
  if (!extent.written_out) return choose(false, "an iteration calls functions");
  const std::string found = "an iteration of a lane makes arrays of up to " + std::to_string(extent.largest) +
                            " elements, and of its " + operations(extent.own + extent.shared) +
                            " operations lanes share " + operations(extent.shared);
  return choose(lanes_are_faster(extent, body, r), found);
}

}  // namespace

bool batch_in_registers(const Op& op, const Graph& body, const std::vector<bool>& varying, std::size_t consts,
                        std::size_t carries, const BatchRule& r) {
  const auto is_list = [](const Array& a) { return a.aval().is_list(); };
  const std::vector<char> inputs(varying.begin(), varying.end());
  if (r.size < 2 || std::ranges::any_of(r.operands, is_list) || !runs_in_lanes(body, r, inputs)) return false;
  batch_as_lanes(op, r);
  // What is the same in all lanes is so afterwards. A loop that makes no trip gives what it began with.
  std::vector<char> differ = varying_outputs(body, inputs);
  for (std::size_t c = 0; c < carries; ++c) differ[c] |= inputs[consts + c];
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    if (differ[i] || is_list(r.outs[i])) continue;
    const Shape& shape = r.outs[i].shape();
    Dims start = Dims::filled(shape.size(), 0), limit = shape;
    limit[0] = 1;
    r.outs[i] = lax::squeeze_axis(lax::slice(r.outs[i], start, limit), 0);
    r.out_axes[i] = -1;
  }
  return true;
}

}  // namespace apsis::detail
