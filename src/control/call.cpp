// call: a region run as a function. A jitted function met under another trace becomes one.

#include "control/regions.hpp"
#include "runtime/region.hpp"
#include "transform/batch.hpp"
#include "transform/jvp.hpp"
#include "transform/linearize.hpp"
#include "transform/messages.hpp"
#include "transform/transpose.hpp"

namespace apsis::detail {
namespace {

Params with_region(const Params& params, GraphRef region) {
  return make_params(CallParams{std::move(region), params.as<CallParams>().name});
}

void call_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = params.as<CallParams>();
  check_region_operands("call", *p.region, in);
  out = output_avals(*p.region);
}

void call_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (run_compiled(call_op, params, in, out)) return;
  std::vector<Array> results = interpret(*params.as<CallParams>().region, in);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = results[i];
}

void call_jvp(const JvpRule& r) {
  const auto& p = r.params.as<CallParams>();
  std::vector<bool> out_mask;
  std::vector<bool> in_mask = not_empty(r.tangents);
  GraphRef region = jvp_graph(*p.region, in_mask, std::vector<bool>(r.outs.size(), false), out_mask);
  std::vector<Array> operands(r.primals.begin(), r.primals.end());
  append(operands, marked(r.tangents, in_mask));
  std::vector<Array> results = bind_region(call_op, with_region(r.params, region), operands);
  std::size_t next = r.outs.size();
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    r.outs[i] = results[i];
    if (out_mask[i]) r.out_tangents[i] = results[next++];
  }
}

void call_linearize(const LinearizeRule& r) {
  const auto& p = r.params.as<CallParams>();
  std::vector<bool> in_mask = not_empty(r.tangents);
  SplitGraph split = split_graph(*p.region, in_mask);
  std::vector<Array> results = bind_region(call_op, with_region(r.params, split.known), r.primals);
  for (std::size_t i = 0; i < r.outs.size(); ++i) r.outs[i] = results[i];
  std::vector<Array> operands = marked(r.tangents, in_mask);
  append(operands, std::span(results).subspan(r.outs.size()));
  TraceScope scope(r.tangent_trace);
  std::vector<Array> tangents = bind_region(call_op, with_region(r.params, split.linear), operands);
  for (std::size_t i = 0, next = 0; i < r.outs.size(); ++i)
    if (split.out_mask[i]) r.out_tangents[i] = tangents[next++];
}

void call_transpose(const TransposeRule& r) {
  const auto& p = r.params.as<CallParams>();
  std::vector<bool> linear(r.linear.begin(), r.linear.end()), ct_mask = not_empty(r.cotangents), out_mask;
  GraphRef region =
      transpose_graph(*p.region, linear, ct_mask, std::vector<bool>(count(linear), false), out_mask);
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i)
    if (!r.linear[i]) operands.push_back(r.operands[i]);
  append(operands, marked(r.cotangents, ct_mask));
  std::vector<Array> found = bind_region(call_op, with_region(r.params, region), operands);
  for (std::size_t i = 0, k = 0, next = 0; i < r.operands.size(); ++i)
    if (r.linear[i] && out_mask[k++]) r.out[i] = found[next++];
}

void call_batch(const BatchRule& r) {
  const auto& p = r.params.as<CallParams>();
  std::vector<bool> in_mask, out_mask;
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    in_mask.push_back(r.axes[i] >= 0);
    operands.push_back(r.axes[i] > 0 ? with_axis(r.operands[i], r.axes[i], 0, r.size) : r.operands[i]);
  }
  GraphRef region = batch_graph(*p.region, r.size, in_mask,
                                std::vector<bool>(p.region->outputs().size(), false), out_mask, operands);
  r.outs = bind_region(call_op, with_region(r.params, region), operands);
  for (bool mapped : out_mask) r.out_axes.push_back(mapped ? 0 : -1);
}

}  // namespace

const Op call_op = {
    .name = "call",
    .kind = OpKind::Call,
    .shape = call_shape,
    .evaluate = call_evaluate,
    .jvp = call_jvp,
    .linearize = call_linearize,
    .transpose = call_transpose,
    .batch = call_batch,
    .parse = parse_params<CallParams>,
};

}  // namespace apsis::detail
