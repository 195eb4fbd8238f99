// cond: one of several regions, chosen by a clamped index.

#include <algorithm>

#include "control/common/messages.hpp"
#include "control/common/regions.hpp"
#include "control/flow/loop_rules.hpp"
#include "ops/lax.hpp"
#include "ops/stop_gradient.hpp"
#include "ops/table.hpp"
#include "runtime/region.hpp"
#include "transform/batch/batch.hpp"
#include "transform/checks/op_checks.hpp"
#include "transform/derivatives/jet.hpp"
#include "transform/derivatives/jvp.hpp"
#include "transform/derivatives/split.hpp"
#include "transform/derivatives/transpose.hpp"

namespace apsis::detail {
namespace {

const CondParams& branches_of(const Params& params) { return params.as<CondParams>(); }

/// Applies a graph transformation to all branches so that they return the same outputs: `make(branch,
/// instantiate, out_mask)` is called until the masks of all branches agree.
template <class Make>
std::vector<GraphRef> transform_branches(const CondParams& p, std::size_t outputs, std::vector<bool>& mask,
                                         Make&& make) {
  std::vector<GraphRef> graphs;
  mask.assign(outputs, false);
  for (bool settled = false; !settled;) {
    std::vector<bool> before = mask;
    graphs.clear();
    for (const GraphRef& branch : p.branches) {
      std::vector<bool> out_mask;
      graphs.push_back(make(*branch, before, out_mask));
      mask = mask_or(mask, out_mask);
    }
    settled = mask == before;
  }
  return graphs;
}

void cond_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(!in.empty() && in[0].dtype() == Dtype::I64 && in[0].rank() == 0 &&
               !branches_of(params).branches.empty());
  for (const GraphRef& branch : branches_of(params).branches) APSIS_ASSERT(branch);
  const auto& p = branches_of(params);
  for (const GraphRef& branch : p.branches) check_region_operands("cond", *branch, in.subspan(1));
  out = output_avals(*p.branches[0]);
  for (std::size_t b = 1; b < p.branches.size(); ++b) {
    std::vector<Aval> other = output_avals(*p.branches[b]);
    for (std::size_t i = 0; i < std::max(out.size(), other.size()); ++i) {
      std::string left = i < out.size() ? to_string(out[i]) : "missing",
                  right = i < other.size() ? to_string(other[i]) : "missing";
      if (i >= out.size() || i >= other.size() || out[i].dtype() != other[i].dtype() ||
          out[i].shape() != other[i].shape() || out[i].list() != other[i].list())
        fail(messages::branch_mismatch,
             {"cond", "result " + std::to_string(i), left, right, std::to_string(b)});
    }
  }
}

void cond_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (run_compiled(cond_op, params, in, out)) return;
  const auto& p = branches_of(params);
  auto index = std::clamp<std::int64_t>(in[0].item<std::int64_t>(), 0,
                                        static_cast<std::int64_t>(p.branches.size()) - 1);
  std::vector<Array> results = interpret(*p.branches[static_cast<std::size_t>(index)], in.subspan(1));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = results[i];
}

void cond_jvp(const JvpRule& r) {
  std::vector<bool> in_mask = not_empty(r.tangents.subspan(1)), out_mask;
  auto graphs = transform_branches(
      branches_of(r.params), r.outs.size(), out_mask,
      [&](const Graph& branch, const std::vector<bool>& instantiate, std::vector<bool>& found) {
        return jvp_graph(branch, in_mask, instantiate, found);
      });
  std::vector<Array> operands(r.primals.begin(), r.primals.end());
  append(operands, marked(r.tangents.subspan(1), in_mask));
  std::vector<Array> results = bind_all(cond_op, make_params(CondParams{std::move(graphs)}), operands);
  std::size_t next = r.outs.size();
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    r.outs[i] = results[i];
    if (out_mask[i]) r.out_tangents[i] = results[next++];
  }
}

// The tangent branches compute what they need of the primal again: the branches' residuals would all differ.
void cond_linearize(const LinearizeRule& r) {
  if (r.primals[0].is_empty()) return stage_whole(cond_op, r);
  const auto& p = branches_of(r.params);
  std::vector<bool> in_mask = not_empty(r.tangents.subspan(1)), out_mask;
  std::vector<Split> splits;  // the last of each branch are those with equal masks
  CondParams known, linear;
  linear.branches = transform_branches(
      p, r.outs.size(), out_mask,
      [&](const Graph& branch, const std::vector<bool>& instantiate, std::vector<bool>& found) {
        splits.push_back(split(branch, in_mask, marked_operands(r), Keep::Nothing, instantiate));
        found = splits.back().out_mask;
        return splits.back().linear;
      });
  for (const Split& s : std::span(splits).last(p.branches.size())) known.branches.push_back(s.known);
  std::vector<Array> operands = marked(r.primals, not_empty(r.primals)), tangents;
  const std::vector<Array> results = bind_all(cond_op, make_params(std::move(known)), operands);
  if (count(out_mask) > 0) {
    append(operands, marked(r.tangents.subspan(1), in_mask));
    TraceScope scope(r.tangent_trace);
    tangents = bind_all(cond_op, make_params(std::move(linear)), operands);
  }
  splits.back().take(r, results, tangents);
}

// A large array that branches read is handed through them with the sum of its cotangents so far: a branch
// that reads a slice adds to the slice. A condition that some branch has for a part of a cotangent is by
// element in all of them.
void cond_transpose(const TransposeRule& r) {
  const std::vector<bool> linear = linear_operands(r);
  TransposeRequest request{.linear = {linear.begin() + 1, linear.end()},
                           .cotangents = not_empty(r.cotangents)};
  const std::vector<Array> sums = take_sums(r, 1, request.sums);
  const Conditions conditions(r);
  request.given = conditions.given;
  const std::size_t cotangents = count(linear);
  std::vector<Conditional> kinds(cotangents, Conditional{0});
  std::vector<bool> out_mask;
  auto graphs = transform_branches(
      branches_of(r.params), 2 * cotangents, out_mask,
      [&](const Graph& branch, const std::vector<bool>& instantiate, std::vector<bool>& found) {
        // At first each branch says what it has.
        const bool first = count(instantiate) == 0;
        request.instantiate = instantiate;
        request.conditional = first ? std::vector(cotangents, Conditional{Conditional::any}) : kinds;
        const Transposed made = transpose_graph(branch, request);
        found = made.out_mask;
        std::size_t out = count(slice_mask(found, 0, cotangents)), k = 0;
        for (const Accumulator& operand : r.out) {
          if (!operand.is_linear()) continue;
          const std::size_t axes =
              found[cotangents + k] ? made.graph->aval(made.graph->outputs()[out++]).rank() : 0;
          if (!operand.aval().is_list()) kinds[k].axes = std::max(kinds[k].axes, static_cast<int>(axes));
          ++k;
        }
        return made.graph;
      });
  if (count(out_mask) == 0) return;
  std::vector<Array> operands = marked(r.operands, negated(linear));
  append(operands, marked(r.cotangents, request.cotangents));
  append(operands, sums);
  append(operands, conditions.arrays);
  take_cotangents(r, 1, bind_all(cond_op, make_params(CondParams{std::move(graphs)}), operands), out_mask);
}

// Lanes that choose differently: all branches run, results are selected. A branch sees, in the lanes that did
// not choose it, operands without derivative: a select transposes to zeros there, and so no NaN of a branch
// not taken gets through.
void batch_by_select(const BatchRule& r) {
  const auto& p = branches_of(r.params);
  std::vector<Array> operands;
  std::vector<bool> mapped;
  for (std::size_t i = 1; i < r.operands.size(); ++i) {
    const Array& a = r.operands[i];
    // Constants have no derivative, and stay the same for all lanes.
    mapped.push_back(r.axes[i] >= 0 || (is_inexact(a.dtype()) && is_tracer(a)));
    operands.push_back(mapped.back() ? with_axis(a, r.axes[i], 0, r.size) : a);
  }
  Array last = lax::full_like(r.operands[0].aval(), static_cast<double>(p.branches.size()) - 1);
  Array zero = lax::full_like(r.operands[0].aval(), 0);
  Array index = r.operands[0];
  index = lax::select(lax::lt(index, zero), zero, lax::select(lax::gt(index, last), last, index));
  auto choose = [&](const Array& chosen, const Array& a, const Array& b) {
    return lax::select(lax::broadcast_in_dim(chosen, a.shape(), {0}), a, b);
  };
  const Params unused = make_params(StopGradientParams{});
  for (std::size_t b = 0; b < p.branches.size(); ++b) {
    Array chosen = lax::eq(index, lax::full_like(index.aval(), static_cast<double>(b)));
    std::vector<Array> seen;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Array& a = operands[i];
      const bool choosing = mapped[i] && is_inexact(a.dtype());
      seen.push_back(choosing ? choose(chosen, a, bind1(stop_gradient_op, unused, {a})) : a);
    }
    std::vector<bool> out_mask;
    GraphRef branch = batch_graph(*p.branches[b], r.size, mapped,
                                  std::vector<bool>(p.branches[b]->outputs().size(), true), out_mask);
    std::vector<Array> results = bind_all(call_op, make_params(CallParams{branch, "branch"}), seen);
    if (b == 0)
      r.outs = results;
    else
      for (std::size_t i = 0; i < results.size(); ++i) r.outs[i] = choose(chosen, results[i], r.outs[i]);
  }
  r.out_axes.assign(r.outs.size(), 0);
}

void cond_batch(const BatchRule& r) {
  if (r.axes[0] >= 0) {
    const bool together = uses_axis(cond_op, r.params, r.size.name), effect = has_effect(cond_op, r.params);
    if (!effect && (together || !staging_is_checked())) return batch_by_select(r);
    // A branch with an effect, or one that may fail a check, runs for the lanes that chose it, and no others.
    if (together) fail(messages::branch_effect, {std::string(r.size.name)});
    return batch_as_lanes(cond_op, r);
  }
  std::vector<bool> in_mask, out_mask;
  std::vector<Array> operands{r.operands[0]};
  for (std::size_t i = 1; i < r.operands.size(); ++i) {
    in_mask.push_back(r.axes[i] >= 0);
    operands.push_back(r.axes[i] > 0 ? with_axis(r.operands[i], r.axes[i], 0, r.size) : r.operands[i]);
  }
  const auto& p = branches_of(r.params);
  auto graphs = transform_branches(
      p, p.branches[0]->outputs().size(), out_mask,
      [&](const Graph& branch, const std::vector<bool>& instantiate, std::vector<bool>& found) {
        return batch_graph(branch, r.size, in_mask, instantiate, found,
                           avals_of(std::span(operands).subspan(1)));
      });
  r.outs = bind_all(cond_op, make_params(CondParams{std::move(graphs)}), operands);
  r.out_axes = places_of_results(r, *p.branches[0], out_mask);
}

void cond_jet(const JetRule& r) {
  std::vector<bool> in_mask = has_series(r.series.subspan(1)), out_mask;
  auto graphs = transform_branches(
      branches_of(r.params), r.outs.size(), out_mask,
      [&](const Graph& branch, const std::vector<bool>& instantiate, std::vector<bool>& found) {
        return jet_graph(branch, r.order, in_mask, instantiate, found);
      });
  std::vector<Array> operands(r.primals.begin(), r.primals.end());
  append(operands, series_of(r.primals.subspan(1), r.series.subspan(1), r.order, in_mask));
  take_jets(bind_all(cond_op, make_params(CondParams{std::move(graphs)}), operands), out_mask, r);
}

}  // namespace

const Op cond_op = {
    .name = "cond",
    .kind = OpKind::Cond,
    .shape = cond_shape,
    .evaluate = cond_evaluate,
    .jvp = cond_jvp,
    .linearize = cond_linearize,
    .transpose = cond_transpose,
    .batch = cond_batch,
    .jet = cond_jet,
    .parse = parse_params<CondParams>,
    .takes_conditions = true,
};

}  // namespace apsis::detail
