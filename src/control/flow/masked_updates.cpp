#include "control/flow/masked_updates.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "apsis/ops/comparison.hpp"
#include "ir/interpret_with.hpp"
#include "ir/region_flow.hpp"
#include "ops/index_rules.hpp"
#include "ops/program_array.hpp"

namespace apsis::detail {
namespace {

constexpr std::uint32_t none = 0xffffffffu;

/// The updates that make an output of an input: pairs of an equation and the number of its result, the last
/// one first.
struct Chain {
  ValueId input;
  bool alone;  // nothing else reads the input
  std::vector<std::pair<std::uint32_t, std::size_t>> updates;
};

/// Who makes the values of a graph, and how often they are read.
class Uses {
 public:
  explicit Uses(const Graph& graph)
      : graph_(graph), reads_(graph.value_count(), 0), made_by_(graph.value_count(), none) {
    for (std::uint32_t i = 0; i < graph.eqns().size(); ++i) {
      const Eqn& e = graph.eqns()[i];
      for (ValueId v : graph.operands(e)) ++reads_[v];
      std::fill_n(made_by_.begin() + e.first_result, e.result_count, i);
    }
    for (ValueId v : graph.outputs()) ++reads_[v];
  }

  /// Nothing if the output is made otherwise than by updates of small parts.
  std::optional<Chain> chain_to(std::size_t output) const;

  /// An update that chooses between new elements and those that are there: of select(chosen, fresh, the slice
  /// that is updated) the first two.
  std::optional<std::pair<ValueId, ValueId>> choice_of(const Eqn& update) const {
    const auto operands = graph_.operands(update);
    const Eqn* select = definition(operands[1]);
    if (!select || !select->op->chooses) return {};
    const Eqn* old = definition(graph_.operands(*select)[2]);
    if (!old || old->op->starts < 0 || old->op->updates >= 0 || reads_[operands[1]] != 1 ||
        reads_[graph_.operands(*select)[2]] != 1)
      return {};
    const auto from = graph_.operands(*old);
    if (from[0] != operands[0] || !std::ranges::equal(from.subspan(1), operands.subspan(2))) return {};
    return std::pair(graph_.operands(*select)[0], graph_.operands(*select)[1]);
  }

  /// The scalar that a value repeats, or none.
  ValueId repeated_scalar(ValueId v) const {
    while (graph_.aval(v).rank() > 0) {
      if (made_by_[v] == none) return none;
      const Eqn& e = graph_.eqns()[made_by_[v]];
      const bool repeats = e.op->view_kind == ViewKind::Repeated ||
                           (e.op->view_kind == ViewKind::Reshaped && graph_.aval(v).size() == 1);
      if (!repeats) return none;
      v = graph_.operands(e)[0];
    }
    return v;
  }

  /// What a result of an equation is an update of: an operand, which the equation reads so often.
  struct Link {
    std::size_t operand;
    std::uint32_t reads;
  };
  std::optional<Link> link_of(const Eqn& e, std::size_t result) const;

 private:
  const Eqn* definition(ValueId v) const {
    return made_by_[v] != none ? &graph_.eqns()[made_by_[v]] : nullptr;
  }

  const Graph& graph_;
  std::vector<std::uint32_t> reads_, made_by_;
};

/// The input of a region of which its output is made, if nothing else reads it.
std::optional<std::size_t> source_of(const Graph& region, std::size_t output) {
  const std::optional<Chain> chain = Uses(region).chain_to(output);
  if (!chain || !chain->alone) return {};
  return chain->input;
}

std::optional<Uses::Link> Uses::link_of(const Eqn& e, std::size_t result) const {
  if (e.op->updates >= 0) {
    const auto operands = graph_.operands(e);
    const auto size = [&](std::int8_t k) {
      return graph_.aval(operands[static_cast<std::size_t>(k)]).size();
    };
    if (2 * size(e.op->written) > size(e.op->updates)) return {};
    if (e.op->places && e.op->places(e.params).start_index_map.empty()) return {};
    return Link{static_cast<std::size_t>(e.op->updates), !e.op->places && choice_of(e) ? 2u : 1u};
  }
  std::optional<std::size_t> updated;
  for (const RegionFlow& flow : region_flows(e)) {
    if (flow.runs == Runs::ByLane || flow.runs == Runs::Wrapped) return {};
    if (flow.runs == Runs::Repeatedly && result >= flow.carries) return {};
    if (!flow.gives_results) {
      if (Uses(*flow.region).reads_[flow.consts + result] > 0) return {};
      continue;
    }
    const std::optional<std::size_t> source = source_of(*flow.region, result);
    if (!source || (flow.runs == Runs::Repeatedly && *source != flow.consts + result)) return {};
    const std::size_t operand = flow.operand_of(*source);
    if (updated && *updated != operand) return {};
    updated = operand;
  }
  if (!updated) return {};
  return Link{*updated, 1};
}

std::optional<Chain> Uses::chain_to(std::size_t output) const {
  Chain chain{};
  ValueId v = graph_.outputs()[output];
  std::uint32_t reads = 1;
  while (made_by_[v] != none) {
    if (reads_[v] != reads) return {};
    const Eqn& e = graph_.eqns()[made_by_[v]];
    const std::size_t result = v - e.first_result;
    const std::optional<Link> link = link_of(e, result);
    if (!link) return {};
    chain.updates.emplace_back(made_by_[v], result);
    v = graph_.operands(e)[link->operand];
    reads = link->reads;
  }
  chain.input = v;
  chain.alone = reads_[v] == reads;
  return chain;
}

/// Index vectors along the last axis, each clamped to its limit if `clamp`; where a lane has ended, beyond
/// all bounds.
Array guarded(Array indices, const std::vector<std::int64_t>& limits, bool clamp, const Array& going) {
  const Shape shape = indices.shape();
  if (clamp) {
    const Array most = lax::broadcast_in_dim(program_array(array(limits)), shape,
                                             {static_cast<std::int64_t>(shape.size()) - 1});
    indices = minimum(maximum(indices, lax::full(shape, Dtype::I64, 0)), most);
  }
  return lax::select(lax::broadcast_in_dim(going, shape, {}), indices, lax::full(shape, Dtype::I64, -1));
}

/// dynamic_update_slice as a scatter of one slice, which is dropped unless `going`.
Array masked_slice(const Array& a, const Array& update, std::span<const Array> starts, const Array& going) {
  ScatterParams p;
  p.unique = true;
  p.places.mode = OutOfBounds::Fill;
  p.places.slice_sizes = update.shape();
  std::vector<Array> index;
  std::vector<std::int64_t> limits;
  for (std::size_t axis = 0; axis < starts.size(); ++axis) {
    p.places.offset_dims.push_back(static_cast<std::int64_t>(axis));
    const std::int64_t room = a.shape()[axis] - update.shape()[axis];
    if (room == 0) continue;
    p.places.start_index_map.push_back(static_cast<std::int64_t>(axis));
    index.push_back(lax::expand_axis(starts[axis], 0));
    limits.push_back(room);
  }
  return lax::scatter(a, guarded(lax::concatenate(index, 0), limits, true, going), update, p);
}

Array masked_scatter(ScatterParams p, const Array& a, const Array& indices, const Array& updates,
                     const Array& going) {
  std::vector<std::int64_t> limits;
  for (const Placement::Start& s : Placement(p.places, a.shape(), indices.shape()).starts)
    limits.push_back(std::max<std::int64_t>(s.limit, 0));
  const bool clamp = p.places.mode == OutOfBounds::Clip;
  if (clamp) p.places.mode = OutOfBounds::Fill;
  return lax::scatter(a, guarded(indices, limits, clamp, going), updates, p);
}

/// (going, the inputs…, one for each output of `outputs`…) → outputs, with the updates that lead to those
/// outputs, which begin with the inputs given last, made only where `going`.
GraphRef masked(const Graph& graph, std::span<const std::size_t> outputs);

/// A region as a part of an equation: (going, the inputs…) → outputs.
GraphRef masked_region(const Graph& region, std::span<const std::size_t> outputs) {
  std::vector<Aval> avals = input_avals(region);
  std::vector<std::size_t> sources;
  for (std::size_t o : outputs) sources.push_back(source_of(region, o).value());
  avals.insert(avals.begin(), Aval(Dtype::Bool, {}));
  const GraphRef body = masked(region, outputs);
  return rewire(avals, [&](std::span<const Array> in) {
    std::vector<Array> args(in.begin(), in.end());
    for (std::size_t s : sources) args.push_back(in[1 + s]);
    return interpret(*body, args);
  });
}

/// An equation with regions that update: these get `going` as one more constant.
void bind_masked(const Eqn& e, std::span<const std::size_t> results, std::vector<Array> in,
                 const Array& going, std::span<Array> out) {
  in.insert(in.begin() + static_cast<std::ptrdiff_t>(region_flows(e).back().first_operand), going);
  Params params;
  if (is_loop(e)) {
    const Loop loop(e);
    params = with_loop_regions(e, {GraphRef(loop.cond), masked_region(*loop.body, results), loop.cond_consts,
                                   loop.consts + 1, loop.carries});
  } else {
    params = map_regions(e.params, [&](const Graph& region) { return masked_region(region, results); });
  }
  apsis::bind(*e.op, params, in, out, e.loc);
}

GraphRef masked(const Graph& graph, std::span<const std::size_t> outputs) {
  const Uses uses(graph);
  std::vector<Aval> avals = input_avals(graph);
  avals.insert(avals.begin(), Aval(Dtype::Bool, {}));
  // By equation: which of its results belong to a chain, and to which.
  std::map<std::uint32_t, std::vector<std::pair<std::size_t, std::size_t>>> updates;
  for (std::size_t c = 0; c < outputs.size(); ++c) {
    const Chain chain = uses.chain_to(outputs[c]).value();
    avals.push_back(graph.aval(chain.input));
    for (auto [eqn, result] : chain.updates) updates[eqn].emplace_back(result, c);
  }
  return rewire(avals, [&](std::span<const Array> all) {
    const Array& going = all[0];
    std::vector<Array> current(all.begin() + 1 + graph.input_count(), all.end());
    const auto bind_update = [&](const Eqn& e, std::span<const Array> values, std::vector<Array>& in,
                                 std::span<Array> out) {
      const auto update = updates.find(static_cast<std::uint32_t>(&e - graph.eqns().data()));
      if (update == updates.end()) return apsis::bind(*e.op, e.params, in, out, e.loc);
      const LocScope place(e.loc);
      const std::size_t first = update->second[0].second;
      if (e.op->starts >= 0) {
        Array chosen = going, fresh = in[1];
        const auto starts = std::span<const Array>(in).subspan(2);
        if (const auto choice = uses.choice_of(e)) {
          const ValueId scalar = uses.repeated_scalar(choice->first);
          fresh = values[choice->second];
          if (scalar != none)
            chosen = lax::logical_and(going, values[scalar]);
          else
            fresh = lax::select(values[choice->first], fresh,
                                lax::dynamic_slice(current[first], starts, fresh.shape()));
        }
        out[0] = masked_slice(current[first], fresh, starts, chosen);
      } else if (e.op->places) {
        out[0] = masked_scatter(e.params.as<ScatterParams>(), current[first], in[1], in[2], going);
      } else {
        std::vector<std::size_t> results;
        for (auto [result, c] : update->second) {
          results.push_back(result);
          in[uses.link_of(e, result)->operand] = current[c];
        }
        bind_masked(e, results, in, going, out);
      }
      for (auto [result, c] : update->second) current[c] = out[result];
    };
    std::vector<Array> found = interpret_with(graph, all.subspan(1, graph.input_count()), bind_update);
    for (std::size_t c = 0; c < outputs.size(); ++c) found[outputs[c]] = current[c];
    return found;
  });
}

}  // namespace

MaskedUpdates::MaskedUpdates(const Graph& graph, std::size_t consts, std::size_t carries, bool in_part) {
  const Uses uses(graph);
  std::vector<std::size_t> outputs;
  for (std::size_t c = 0; c < carries; ++c) {
    const std::optional<Chain> chain = uses.chain_to(c);
    updated.push_back(in_part && chain && chain->input == consts + c);
    if (updated[c]) outputs.push_back(c);
  }
  body = masked(graph, outputs);
}

}  // namespace apsis::detail
