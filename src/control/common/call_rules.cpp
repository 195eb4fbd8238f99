#include "control/common/call_rules.hpp"

#include <utility>

#include "ops/lax.hpp"
#include "runtime/region.hpp"
#include "transform/batch/batch.hpp"
#include "transform/derivatives/jet.hpp"
#include "transform/derivatives/jvp.hpp"
#include "transform/derivatives/split.hpp"
#include "transform/derivatives/transpose.hpp"

namespace apsis::detail {

const Graph& called_region(const Params& params) {
  const Graph* first = nullptr;
  each_region(params, [&](const Graph& region) {
    if (!first) first = &region;
  });
  APSIS_ASSERT(first);
  return *first;
}

Params with_called_region(const Params& params, const GraphRef& region) {
  struct Replace {
    const Graph* region;
    bool done = false;
  } replace{region.get()};
  auto map = [](void* context, const void* old) -> const void* {
    auto& r = *static_cast<Replace*>(context);
    return std::exchange(r.done, true) ? old : r.region;
  };
  return Params::adopt(params.node()->table->with_regions(*params.node(), map, &replace));
}

void called_shape(const char* op, const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const Graph& region = called_region(params);
  check_region_operands(op, region, in);
  out = output_avals(region);
}

void called_evaluate(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (run_compiled(op, params, in, out)) return;
  std::vector<Array> results = interpret(called_region(params), in);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = results[i];
}

void called_jvp(const Op& op, const JvpRule& r) {
  std::vector<bool> out_mask, in_mask = not_empty(r.tangents);
  GraphRef region =
      jvp_graph(called_region(r.params), in_mask, std::vector<bool>(r.outs.size(), false), out_mask);
  std::vector<Array> operands(r.primals.begin(), r.primals.end());
  append(operands, marked(r.tangents, in_mask));
  std::vector<Array> results = bind_all(op, with_called_region(r.params, region), operands);
  std::size_t next = r.outs.size();
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    r.outs[i] = results[i];
    if (out_mask[i]) r.out_tangents[i] = results[next++];
  }
}

void called_linearize(const Op& op, const LinearizeRule& r) {
  const SplitCall split(called_region(r.params), r);
  std::vector<Array> results = split.known->eqns().empty()
                                   ? interpret(*split.known, split.known_in)
                                   : bind_all(op, with_called_region(r.params, split.known), split.known_in);
  std::vector<Array> operands = split.tangents_in;
  append(operands, std::span(results).last(split.residual_count));
  TraceScope scope(r.tangent_trace);
  split.take(r, results, bind_all(op, with_called_region(r.params, split.linear), operands));
}

void called_transpose(const Op& op, const TransposeRule& r) {
  TransposeRequest request{.linear = linear_operands(r), .cotangents = not_empty(r.cotangents)};
  const std::vector<Array> sums = take_sums(r, 0, request.sums);
  const Conditions conditions(r);
  request.conditional.assign(count(request.linear), {Conditional::any});
  request.given = conditions.given;
  const auto [region, out_mask] = transpose_graph(called_region(r.params), request);
  std::vector<Array> operands = marked(r.operands, negated(request.linear));
  append(operands, marked(r.cotangents, request.cotangents));
  append(operands, sums);
  append(operands, conditions.arrays);
  std::vector<Array> found = bind_all(op, with_called_region(r.params, region), operands);
  share_values(*region, operands, found);
  take_cotangents(r, 0, found, out_mask);
}

void called_jet(const JetRule& r) { jet_of_program(called_region(r.params), r); }

void called_batch(const Op& op, const BatchRule& r) {
  const Graph& called = called_region(r.params);
  std::vector<bool> in_mask, out_mask;
  std::vector<Array> operands = lanes_first(r, in_mask);
  GraphRef region = batch_graph(called, r.size, in_mask, std::vector<bool>(called.outputs().size(), false),
                                out_mask, avals_of(operands));
  r.outs = bind_all(op, with_called_region(r.params, region), operands);
  r.out_axes = places_of_results(r, called, out_mask);
}

std::vector<Array> lanes_first(const BatchRule& r, std::vector<bool>& mapped) {
  std::vector<Array> operands;
  mapped.clear();
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    mapped.push_back(r.axes[i] >= 0);
    operands.push_back(r.axes[i] > 0 ? with_axis(r.operands[i], r.axes[i], 0, r.size) : r.operands[i]);
  }
  return operands;
}

}  // namespace apsis::detail
