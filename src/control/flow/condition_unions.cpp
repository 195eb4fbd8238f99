#include "control/flow/condition_unions.hpp"

#include <algorithm>
#include <iterator>

#include "ir/region_flow.hpp"
#include "ops/lax.hpp"
#include "ops/reduce_params.hpp"
#include "ops/view_params.hpp"
#include "transform/derivatives/guard.hpp"

namespace apsis::detail {

bool within(const Union& a, const Union& b) {
  return a.axes >= b.axes && std::ranges::includes(b.parts, a.parts);
}

Union either(const Union& a, const Union& b) {
  Union all;
  all.axes = std::min(a.axes, b.axes);
  std::ranges::set_union(a.parts, b.parts, std::back_inserter(all.parts));
  return all;
}

namespace {

Dims axes_from(std::size_t first, std::size_t end) {
  Dims axes;
  for (std::size_t axis = first; axis < end; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return axes;
}

}  // namespace

Union Unions::of(const Array& holds) {
  for (const Known& k : known_)
    if (k.holds.node() == holds.node()) return k.as;
  bases_.push_back(holds);
  known_.push_back({holds, {{bases_.size() - 1}, holds.shape().size()}});
  return known_.back().as;
}

Union Unions::of_any(const Array& by_entry) { return of(any_along(by_entry, {0})); }

Union Unions::of_any_along(const Union& all, const Dims& axes) {
  const std::size_t kept = all.axes - axes.size();
  if (axes == axes_from(kept, all.axes)) return {all.parts, kept};
  Union found;
  for (std::size_t part : all.parts) {
    Dims reduced = axes;
    for (std::int64_t axis : axes_from(all.axes, bases_[part].shape().size())) reduced.push_back(axis);
    found = either(found, of(any_along(bases_[part], reduced)));
  }
  return found;
}

Array Unions::any_along(const Array& holds, const Dims& axes) {
  for (const Reduced& r : reduced_)
    if (r.from.node() == holds.node() && r.axes == axes) return r.any;
  reduced_.push_back({holds, axes, lax::reduce_or(holds, axes)});
  return reduced_.back().any;
}

bool Unions::has(const Array& holds) const {
  return std::ranges::any_of(known_, [&](const Known& k) { return k.holds.node() == holds.node(); });
}

void Unions::add(const Array& holds, const Union& as) {
  if (!has(holds)) known_.push_back({holds, as});
}

Array Unions::made_of(const Union& all) {
  for (const Known& k : known_)
    if (k.as == all) return k.holds;
  Array holds;
  for (std::size_t part : all.parts) {
    const Dims more = axes_from(all.axes, bases_[part].shape().size());
    const Array one = more.empty() ? bases_[part] : any_along(bases_[part], more);
    holds = holds.is_empty() ? one : lax::logical_or(holds, one);
  }
  known_.push_back({holds, all});
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

/// What values imply. Inside of lanes, the axes of these are the first that a union has, and no value has
/// them.
class Implications {
 public:
  explicit Implications(Unions& unions, std::size_t lanes = 0) : unions_(unions), lanes_(lanes) {}
  std::vector<Implied> of_values(const Graph& graph, std::span<const Implied> inputs) const;

 private:
  /// Whether a union is for more axes than those of lanes.
  bool has_own_axes(const Implied& a) const { return a.as && !is_nowhere(a) && a.as->axes > lanes_; }
  Implied of_reduction(const Eqn& e, const Implied& in) const;
  std::vector<Implied> of_regions(const Eqn& e, std::span<const Implied> in) const;
  std::vector<Implied> of_loop(const RegionFlow& body, const Eqn& e, std::span<const Implied> in) const;

  Unions& unions_;
  const std::size_t lanes_;
};

Implied Implications::of_reduction(const Eqn& e, const Implied& in) const {
  if (!in.as || is_nowhere(in)) return in;
  const Dims& axes = e.params.as<ReduceParams>().axes;
  Dims of_union;
  for (std::int64_t axis : axes) {
    const auto outside = static_cast<std::size_t>(axis) + lanes_;
    if (outside < in.as->axes) of_union.push_back(static_cast<std::int64_t>(outside));
  }
  return {unions_.of_any_along(*in.as, of_union), in.equal && of_union.size() == axes.size()};
}

/// A carry that no iteration widens implies what it starts from: what is open of late carries, above all.
std::vector<Implied> Implications::of_loop(const RegionFlow& body, const Eqn& e,
                                           std::span<const Implied> in) const {
  std::vector<Implied> inputs(body.region->input_count());
  for (std::size_t i = 0; i < body.consts + body.carries; ++i) inputs[i] = in[body.operand_of(i)];
  const std::span<Implied> carries = std::span(inputs).subspan(body.consts, body.carries);
  for (std::size_t c = 0; c < carries.size(); ++c) {
    const ValueId carry = static_cast<ValueId>(body.consts + c);
    carries[c].equal = false;
    if (body.region->aval(carry).dtype() != Dtype::Bool) carries[c] = {};
  }
  const auto is_known = [](const Implied& carry) { return carry.as.has_value(); };
  for (bool settled = false; !settled && std::ranges::any_of(carries, is_known);) {
    settled = true;
    const std::vector<Implied> found = of_values(*body.region, inputs);
    for (std::size_t c = 0; c < carries.size(); ++c) {
      const Implied& next = found[body.region->outputs()[c]];
      if (!carries[c].as || (next.as && within(*next.as, *carries[c].as))) continue;
      carries[c] = {};
      settled = false;
    }
  }
  std::vector<Implied> results(e.result_count);
  std::ranges::copy(carries, results.begin());
  return results;
}

/// Of the results of an equation with regions. What loops with a condition give is not known.
std::vector<Implied> Implications::of_regions(const Eqn& e, std::span<const Implied> in) const {
  std::vector<Implied> results(e.result_count);
  bool first = true;
  for (const RegionFlow& flow : region_flows(e)) {
    if (!flow.gives_results) break;
    if (flow.runs == Runs::Repeatedly) return of_loop(flow, e, in);
    std::vector<Implied> inputs;
    for (std::size_t i = 0; i < flow.consts; ++i) {
      const std::size_t k = flow.operand_of(i);
      const bool entry = flow.lane_axes && (*flow.lane_axes)[k] >= 0;
      inputs.push_back(flow.lane_axes && !entry && has_own_axes(in[k]) ? Implied() : in[k]);
    }
    const std::vector<Implied> found =
        Implications(unions_, lanes_ + (flow.lane_axes ? 1 : 0)).of_values(*flow.region, inputs);
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      const Implied& of = found[flow.region->outputs()[r]];
      results[r] = first ? of : either(results[r], of);
      if (flow.runs == Runs::Chosen) results[r].equal = false;
    }
    first = false;
  }
  return results;
}

std::vector<Implied> Implications::of_values(const Graph& graph, std::span<const Implied> inputs) const {
  std::vector<Implied> found(graph.value_count());
  std::ranges::copy(inputs, found.begin());
  for (const Eqn& e : graph.eqns()) {
    std::vector<Implied> in;
    for (ValueId v : graph.operands(e)) in.push_back(found[v]);
    Implied& result = found[e.first_result];
    if (e.op->kind == OpKind::Constant && e.params.as<ConstantParams>().bits == 0) {
      result = {Union(), true};  // what never holds implies everything
    } else if (e.op->view_kind == ViewKind::Repeated) {
      if (!has_own_axes(in[0]) || keeps_first_axes(graph, e)) result = in[0];
    } else if (e.op->logic == Logic::Any) {
      result = e.op->kind == OpKind::Reduce ? of_reduction(e, in[0]) : either(in[0], in[1]);
    } else if (e.op->logic == Logic::All && e.op->kind == OpKind::Elementwise) {
      const bool first = in[0].as && (!in[1].as || within(*in[0].as, *in[1].as));
      result.as = in[first ? 0 : 1].as;
    } else {
      std::ranges::copy(of_regions(e, in), found.begin() + e.first_result);
    }
  }
  return found;
}

}  // namespace

std::vector<Implied> implied(const Graph& graph, std::span<const Implied> inputs, Unions& unions) {
  return Implications(unions).of_values(graph, inputs);
}

}  // namespace apsis::detail
