#include "control/flow/condition_unions.hpp"

#include <algorithm>
#include <iterator>

#include "control/common/call_rules.hpp"
#include "ops/lax.hpp"
#include "ops/reduce_params.hpp"
#include "ops/table.hpp"
#include "ops/view_params.hpp"
#include "transform/derivatives/guard.hpp"

namespace apsis::detail {

extern const Op reduce_or_op;

bool within(const Union& a, const Union& b) {
  return a.axes >= b.axes && std::ranges::includes(b.parts, a.parts);
}

Union either(const Union& a, const Union& b) {
  Union all;
  all.axes = std::min(a.axes, b.axes);
  std::ranges::set_union(a.parts, b.parts, std::back_inserter(all.parts));
  return all;
}

Union Unions::of(const Array& holds) {
  for (const Known& k : known_)
    if (k.holds.node() == holds.node()) return k.as;
  bases_.push_back(holds);
  known_.push_back({holds, {{bases_.size() - 1}, holds.shape().size()}});
  return known_.back().as;
}

Union Unions::of_any(const Array& by_entry) {
  for (const auto& [entries, any] : any_)
    if (entries.node() == by_entry.node()) return of(any);
  any_.emplace_back(by_entry, lax::reduce_or(by_entry, {0}));
  return of(any_.back().second);
}

bool Unions::has(const Array& holds) const {
  return std::ranges::any_of(known_, [&](const Known& k) { return k.holds.node() == holds.node(); });
}

void Unions::add(const Array& holds, const Union& as) {
  if (!has(holds)) known_.push_back({holds, as});
}

Array Unions::made_of(const Union& all) {
  std::size_t axes = all.axes;
  for (std::size_t part : all.parts) axes = std::min(axes, bases_[part].shape().size());
  for (const Known& k : known_)
    if (k.as.parts == all.parts && k.as.axes == axes) return k.holds;
  Array holds;
  for (std::size_t part : all.parts) {
    Dims more;
    for (std::size_t axis = axes; axis < bases_[part].shape().size(); ++axis)
      more.push_back(static_cast<std::int64_t>(axis));
    const Array one = more.empty() ? bases_[part] : lax::reduce_or(bases_[part], more);
    holds = holds.is_empty() ? one : lax::logical_or(holds, one);
  }
  known_.push_back({holds, {all.parts, axes}});
  return holds;
}

namespace {

Implied either(const Implied& a, const Implied& b) {
  if (!a.as || !b.as) return {};
  const bool same_axes = a.as->parts.empty() || b.as->parts.empty() || a.as->axes == b.as->axes;
  return {either(*a.as, *b.as), a.equal && b.equal && same_axes};
}

bool is_nowhere(const Implied& a) { return a.as && a.as->parts.empty(); }

/// What is repeated along further axes, behind its own.
bool keeps_first_axes(const Graph& graph, const Eqn& broadcast) {
  const Dims& axes = broadcast.params.as<BroadcastParams>().axes;
  const Shape &from = graph.aval(graph.operands(broadcast)[0]).shape(),
              &to = graph.aval(broadcast.first_result).shape();
  return leads(axes) && std::equal(from.begin(), from.end(), to.begin());
}

/// What is reduced along its last axes.
bool keeps_first_axes_of_all(const Graph& graph, const Eqn& reduction) {
  const std::size_t kept = graph.aval(reduction.first_result).shape().size();
  return std::ranges::none_of(reduction.params.as<ReduceParams>().axes,
                              [&](std::int64_t axis) { return static_cast<std::size_t>(axis) < kept; });
}

/// Of the results of an equation that runs a region on its operands, from the second on of a cond.
std::vector<Implied> implied_by_region(const Graph& region, const Eqn& e, std::span<const Implied> in) {
  const std::vector<Implied> of = implied(region, in);
  std::vector<Implied> results;
  for (std::uint32_t r = 0; r < e.result_count; ++r) results.push_back(of[region.outputs()[r]]);
  return results;
}

/// In a lane the first axis, which is that of lanes, is not there.
std::vector<Implied> implied_by_lanes(const Eqn& e, std::vector<Implied> in) {
  const auto& p = e.params.as<MapLanesParams>();
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!in[k].as || is_nowhere(in[k])) continue;
    if (p.in_axes[k] != 0 || in[k].as->axes == 0)
      in[k] = {};
    else
      --in[k].as->axes;
  }
  std::vector<Implied> results = implied_by_region(*p.region, e, in);
  for (Implied& one : results)
    if (one.as && !is_nowhere(one)) ++one.as->axes;
  return results;
}

std::vector<Implied> implied_by_branches(const Eqn& e, std::span<const Implied> in) {
  std::vector<Implied> results;
  for (const GraphRef& branch : e.params.as<CondParams>().branches) {
    const std::vector<Implied> of = implied_by_region(*branch, e, in);
    if (results.empty()) results = of;
    for (std::size_t r = 0; r < of.size(); ++r) results[r] = {either(results[r], of[r]).as, false};
  }
  return results;
}

}  // namespace

std::vector<Implied> implied(const Graph& graph, std::span<const Implied> inputs) {
  std::vector<Implied> found(graph.value_count());
  std::ranges::copy(inputs, found.begin());
  for (const Eqn& e : graph.eqns()) {
    std::vector<Implied> in;
    for (ValueId v : graph.operands(e)) in.push_back(found[v]);
    Implied& result = found[e.first_result];
    if (e.op == &constant_op && e.params.as<ConstantParams>().bits == 0) {
      result = {Union(), true};  // what never holds implies everything
    } else if (e.op == &broadcast_in_dim_op) {
      if (is_nowhere(in[0]) || keeps_first_axes(graph, e)) result = in[0];
    } else if (e.op == &reduce_or_op) {
      if (!in[0].as || !keeps_first_axes_of_all(graph, e)) continue;
      const std::size_t axes = graph.aval(e.first_result).shape().size();
      result = {Union{in[0].as->parts, std::min(in[0].as->axes, axes)}, is_nowhere(in[0])};
    } else if (e.op == &bit_or_op) {
      result = either(in[0], in[1]);
    } else if (e.op == &bit_and_op) {
      const bool first = in[0].as && (!in[1].as || within(*in[0].as, *in[1].as));
      result.as = in[first ? 0 : 1].as;
    } else if (e.op == &map_lanes_op) {
      std::ranges::copy(implied_by_lanes(e, in), found.begin() + e.first_result);
    } else if (e.op->kind == OpKind::Call || e.op == &checkpoint_op) {
      std::ranges::copy(implied_by_region(called_region(e.params), e, in), found.begin() + e.first_result);
    } else if (e.op == &cond_op) {
      std::ranges::copy(implied_by_branches(e, std::span(in).subspan(1)), found.begin() + e.first_result);
    }
  }
  return found;
}

}  // namespace apsis::detail
