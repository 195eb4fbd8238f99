// linear_call: a program that is linear in its last operands, with a transpose that somebody wrote.

#include "control/calls/linear_call.hpp"

#include "ops/lax.hpp"
#include "runtime/region.hpp"
#include "transform/batch/batch.hpp"
#include "transform/derivatives/linearize.hpp"

namespace apsis::detail {
namespace {

const LinearCallParams& linear_of(const Params& params) { return params.as<LinearCallParams>(); }

/// The program without its own transpose.
Params plain_call(const Params& params) {
  return make_params(CallParams{linear_of(params).region, "linear_call"});
}

void linear_call_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = linear_of(params);
  APSIS_ASSERT(p.region && p.transposed && p.linear >= 0 && p.linear <= static_cast<std::int64_t>(in.size()));
  check_region_operands("linear_call", *p.region, in);
  out = output_avals(*p.region);
  const auto linear = static_cast<std::size_t>(p.linear);
  std::vector<Aval> back(in.begin(), in.end() - p.linear);
  back.insert(back.end(), out.begin(), out.end());
  check_region_operands("linear_call", *p.transposed, back);
  const std::size_t found = p.transposed->outputs().size();
  APSIS_ASSERT(p.conditions.size() == linear && found >= linear);
  for (std::size_t i = 0; i < linear; ++i) {
    const Aval &cotangent = p.transposed->aval(p.transposed->outputs()[i]), &of = in[in.size() - linear + i];
    APSIS_ASSERT(cotangent.shape() == of.shape() && cotangent.dtype() == of.dtype() &&
                 cotangent.list() == of.list());
    APSIS_ASSERT(p.conditions[i] >= -1 && p.conditions[i] < static_cast<std::int64_t>(found - linear));
  }
}

void linear_call_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (run_compiled(linear_call_op, params, in, out)) return;
  std::vector<Array> results = interpret(*linear_of(params).region, in);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = results[i];
}

// What is linear is its own derivative; with respect to the other operands, the program is differentiated.
void linear_call_jvp(const JvpRule& r) {
  const auto& p = linear_of(r.params);
  std::size_t plain = r.primals.size() - static_cast<std::size_t>(p.linear);
  if (count(not_empty(r.tangents.first(plain))) > 0)
    return call_op.jvp({plain_call(r.params), r.primals, r.tangents, r.outs, r.out_tangents});
  std::vector<Array> outs = bind_all(linear_call_op, r.params, r.primals), operands;
  append(operands, r.primals.first(plain));
  append(operands, instantiate(r.primals.subspan(plain), r.tangents.subspan(plain),
                               std::vector<bool>(static_cast<std::size_t>(p.linear), true)));
  std::vector<Array> tangents = bind_all(linear_call_op, r.params, operands);
  for (std::size_t i = 0; i < outs.size(); ++i) {
    r.outs[i] = outs[i];
    r.out_tangents[i] = tangents[i];
  }
}

void linear_call_linearize(const LinearizeRule& r) {
  if (is_mixed(r)) return stage_whole(linear_call_op, r);
  const auto& p = linear_of(r.params);
  std::size_t plain = r.primals.size() - static_cast<std::size_t>(p.linear);
  if (count(not_empty(r.tangents.first(plain))) > 0)
    return call_op.linearize(
        {plain_call(r.params), r.primals, r.tangents, r.tangent_trace, r.outs, r.out_tangents});
  std::vector<Array> outs = bind_all(linear_call_op, r.params, r.primals), operands;
  append(operands, r.primals.first(plain));
  append(operands, instantiate(r.primals.subspan(plain), r.tangents.subspan(plain),
                               std::vector<bool>(static_cast<std::size_t>(p.linear), true)));
  TraceScope scope(r.tangent_trace);
  std::vector<Array> tangents = bind_all(linear_call_op, r.params, operands);
  for (std::size_t i = 0; i < outs.size(); ++i) {
    r.outs[i] = outs[i];
    r.out_tangents[i] = tangents[i];
  }
}

void linear_call_transpose(const TransposeRule& r) {
  const auto& p = linear_of(r.params);
  std::size_t plain = r.operands.size() - static_cast<std::size_t>(p.linear);
  std::vector<Array> operands(r.operands.begin(), r.operands.begin() + static_cast<std::ptrdiff_t>(plain));
  std::vector<Aval> outs = output_avals(*p.region);
  for (std::size_t i = 0; i < outs.size(); ++i)
    operands.push_back(r.cotangents[i].is_empty() ? lax::full_like(outs[i], 0) : r.cotangents[i]);
  std::vector<Array> found =
      bind_all(call_op, make_params(CallParams{p.transposed, "linear_call"}), operands);
  for (std::size_t i = plain; i < r.operands.size(); ++i) {
    const std::int64_t condition = p.conditions[i - plain];
    const Array holds = condition < 0 ? Array() : found[static_cast<std::size_t>(p.linear + condition)];
    r.out[i].add_if(found[i - plain], AxesCondition::for_first_axes(holds));
  }
}

// All that is linear becomes mapped, so that the transpose maps the other way.
void linear_call_batch(const BatchRule& r) {
  const auto& p = linear_of(r.params);
  std::size_t plain = r.operands.size() - static_cast<std::size_t>(p.linear);
  std::vector<bool> in_mask, back_mask, out_mask, back_out;
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    bool mapped = i >= plain || r.axes[i] >= 0;
    in_mask.push_back(mapped);
    if (i < plain) back_mask.push_back(mapped);
    operands.push_back(mapped ? with_axis(r.operands[i], r.axes[i], 0, r.size) : r.operands[i]);
  }
  back_mask.resize(p.transposed->input_count(), true);
  LinearCallParams wide = p;
  const std::vector<Aval> avals = avals_of(operands);
  wide.region = batch_graph(*p.region, r.size, in_mask, std::vector<bool>(p.region->outputs().size(), true),
                            out_mask, avals);
  std::vector<Aval> back(avals.begin(), avals.begin() + static_cast<std::ptrdiff_t>(plain));
  for (const Aval& cotangent : output_avals(*wide.region)) back.push_back(cotangent);
  wide.transposed = batch_graph(*p.transposed, r.size, back_mask,
                                std::vector<bool>(p.transposed->outputs().size(), true), back_out, back);
  r.outs = bind_all(linear_call_op, make_params(wide), operands);
  r.out_axes.assign(r.outs.size(), 0);
}

}  // namespace

const Op linear_call_op = {
    .name = "linear_call",
    .kind = OpKind::Custom,
    .shape = linear_call_shape,
    .evaluate = linear_call_evaluate,
    .jvp = linear_call_jvp,
    .linearize = linear_call_linearize,
    .transpose = linear_call_transpose,
    .batch = linear_call_batch,
    .parse = parse_params<LinearCallParams>,
};

}  // namespace apsis::detail
