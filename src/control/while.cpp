// while: a loop as long as a condition holds. It may append values to lists, which is how reverse mode keeps
// its tape.

#include "codegen/cancel.hpp"
#include "codegen/messages.hpp"
#include "control/loop_rules.hpp"
#include "control/messages.hpp"
#include "control/recording.hpp"
#include "control/regions.hpp"
#include "ops/lax.hpp"
#include "runtime/region.hpp"
#include "transform/batch.hpp"
#include "transform/jet.hpp"
#include "transform/jvp.hpp"
#include "transform/linearize.hpp"

namespace apsis::detail {
namespace {

/// Operand counts: condition constants, body constants, carry.
struct Parts {
  std::size_t cond, consts, carries;
  explicit Parts(const WhileParams& p)
      : cond(static_cast<std::size_t>(p.cond_consts)),
        consts(static_cast<std::size_t>(p.body_consts)),
        carries(static_cast<std::size_t>(p.carries)) {}
};

const WhileParams& while_of(const Params& params) { return params.as<WhileParams>(); }

void while_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = while_of(params);
  Parts n(p);
  std::vector<Aval> cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n.cond));
  auto carry = in.subspan(n.cond + n.consts);
  cond_in.insert(cond_in.end(), carry.begin(), carry.end());
  check_region_operands("while_loop", *p.cond, cond_in);
  check_region_operands("while_loop", *p.body, in.subspan(n.cond));
  std::vector<Aval> predicate = output_avals(*p.cond);
  if (predicate.size() != 1 || predicate[0].dtype() != Dtype::Bool || predicate[0].rank() != 0)
    fail(messages::condition_not_bool, {predicate.empty() ? "nothing" : to_string(predicate[0])});
  std::vector<Aval> results = output_avals(*p.body);
  check_carry("while_loop", carry, results);
  for (std::size_t i = 0; i < results.size(); ++i)
    out.push_back(i < n.carries ? results[i] : list_of(results[i]));
}

void while_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (run_compiled(while_op, params, in, out)) return;
  const auto& p = while_of(params);
  Parts n(p);
  std::vector<Array> cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n.cond));
  std::vector<Array> body_in(in.begin() + static_cast<std::ptrdiff_t>(n.cond), in.end());
  append(cond_in, in.subspan(n.cond + n.consts));
  std::vector<std::vector<Array>> lists(out.size() - n.carries);
  for (std::int64_t step = 0; interpret(*p.cond, cond_in)[0].item<bool>(); ++step) {
    if (p.max_steps >= 0 && step >= p.max_steps)
      fail(messages::max_steps_exceeded, {std::to_string(p.max_steps)});
    poll_cancelled();
    std::vector<Array> results = interpret(*p.body, body_in);
    for (std::size_t c = 0; c < n.carries; ++c) cond_in[n.cond + c] = body_in[n.consts + c] = results[c];
    for (std::size_t y = 0; y < lists.size(); ++y) lists[y].push_back(results[n.carries + y]);
  }
  for (std::size_t c = 0; c < n.carries; ++c) out[c] = body_in[n.consts + c];
  std::vector<Aval> results = output_avals(*p.body);
  for (std::size_t y = 0; y < lists.size(); ++y)
    out[n.carries + y] = make_list(list_of(results[n.carries + y]), std::move(lists[y]));
}

/// The loop over primals and derivatives: `make` transforms the body, `tangents` gives those of the operands
/// that are marked in the end.
template <class Make, class Tangents>
std::vector<Array> widened_while(const WhileParams& p, std::span<const Array> primals,
                                 std::vector<bool> in_mask, std::size_t copies, std::vector<bool>& out_mask,
                                 Make&& make, Tangents&& tangents) {
  Parts n(p);
  GraphRef body = carry_fixpoint(in_mask, n.consts, n.carries, out_mask, make, p.body->outputs().size());
  Widening w(*p.body, {n.consts, n.carries, 0}, in_mask, out_mask, copies);
  WhileParams wide = p;
  wide.body = w.interleave(*body);
  wide.body_consts = static_cast<std::int64_t>(w.width(0));
  wide.carries = static_cast<std::int64_t>(w.width(1));
  // The condition ignores the tangents.
  std::vector<Aval> cond_in = input_avals(*p.cond), body_in = input_avals(*wide.body);
  cond_in.insert(cond_in.end(), body_in.begin() + static_cast<std::ptrdiff_t>(w.width(0) + n.carries),
                 body_in.end());
  wide.cond = rewire(
      cond_in, [&](std::span<const Array> in) { return interpret(*p.cond, in.first(n.cond + n.carries)); });
  std::vector<Array> operands(primals.begin(), primals.begin() + static_cast<std::ptrdiff_t>(n.cond));
  append(operands, w.operands(primals.subspan(n.cond), tangents(in_mask)));
  return w.tangents_last(bind_region(while_op, make_params(wide), operands));
}

void while_jvp(const JvpRule& r) {
  const auto& p = while_of(r.params);
  Parts n(p);
  auto primals = r.primals.subspan(n.cond), tangents = r.tangents.subspan(n.cond);
  std::vector<bool> out_mask;
  auto make = [&](const std::vector<bool>& inputs, const std::vector<bool>& inst, std::vector<bool>& found) {
    return jvp_graph(*p.body, inputs, inst, found);
  };
  std::vector<Array> results = widened_while(
      p, r.primals, not_empty(tangents), 1, out_mask, make,
      [&](const std::vector<bool>& mask) { return marked(instantiate(primals, tangents, mask), mask); });
  for (std::size_t i = 0, next = r.outs.size(); i < r.outs.size(); ++i) {
    r.outs[i] = results[i];
    if (out_mask[i]) r.out_tangents[i] = results[next++];
  }
}

void while_jet(const JetRule& r) {
  const auto& p = while_of(r.params);
  Parts n(p);
  auto primals = r.primals.subspan(n.cond);
  auto series = r.series.subspan(n.cond);
  std::vector<bool> out_mask;
  auto make = [&](const std::vector<bool>& inputs, const std::vector<bool>& inst, std::vector<bool>& found) {
    return jet_graph(*p.body, r.order, inputs, inst, found);
  };
  std::vector<Array> results =
      widened_while(p, r.primals, has_series(series), r.order, out_mask, make,
                    [&](const std::vector<bool>& mask) { return series_of(primals, series, r.order, mask); });
  take_jets(results, out_mask, r);
}

void while_linearize(const LinearizeRule& r) {
  const auto& p = while_of(r.params);
  Parts n(p);
  if (p.kind == LoopKind::Lax) fail(messages::lax_loop_reverse, {});
  auto primals = r.primals.subspan(n.cond), tangents = r.tangents.subspan(n.cond);
  std::vector<bool> in_mask = not_empty(tangents), out_mask;
  GraphRef tangent = carry_fixpoint(
      in_mask, n.consts, n.carries, out_mask,
      [&](const std::vector<bool>& inputs, const std::vector<bool>& inst, std::vector<bool>& found) {
        return tangent_graph(*p.body, inputs, inst, found);
      },
      r.outs.size());

  // The primal loop keeps a tape: the carries that the tangent body reads.
  bool differentiable = count(out_mask) > 0;
  Recording recording(*p.body, *tangent, n.consts, n.carries, true);
  WhileParams primal = p;
  if (differentiable) primal.body = recording.body;
  std::vector<Array> results = bind_region(while_op, make_params(primal), r.primals);
  for (std::size_t i = 0; i < r.outs.size(); ++i) r.outs[i] = results[i];
  if (!differentiable) return;

  // The tangent loop scans the tape: consts = (body consts, unchanging carries, tangent consts), carry =
  // tangent carry.
  std::vector<Array> full = instantiate(primals, tangents, in_mask), operands;
  append(operands, primals.first(n.consts));
  for (std::size_t c : recording.unchanging) operands.push_back(primals[n.consts + c]);
  append(operands, marked(std::span(full).first(n.consts), slice_mask(in_mask, 0, n.consts)));
  auto tangent_consts = static_cast<std::int64_t>(operands.size());
  append(operands, marked(std::span(full).subspan(n.consts), slice_mask(in_mask, n.consts, n.carries)));
  std::int64_t tangent_carries = static_cast<std::int64_t>(operands.size()) - tangent_consts;
  append(operands, std::span(results).subspan(r.outs.size()));
  ScanParams linear{recording.tangent_body(*p.body, *tangent, in_mask, n.consts, n.carries), tangent_consts,
                    tangent_carries, -1, false};
  TraceScope scope(r.tangent_trace);
  std::vector<Array> found = bind_region(scan_op, make_params(linear), operands);
  for (std::size_t i = 0, next = 0; i < r.outs.size(); ++i)
    if (out_mask[i]) r.out_tangents[i] = found[next++];
}

void while_batch(const BatchRule& r) {
  const auto& p = while_of(r.params);
  Parts n(p);
  std::vector<bool> in_mask;
  for (std::size_t i = n.cond; i < r.axes.size(); ++i) in_mask.push_back(r.axes[i] >= 0);

  // Do the lanes differ in length? Then they run each at its own pace.
  for (bool settled = false; !settled;) {
    settled = true;
    std::vector<bool> out = dependence(*p.body, in_mask);
    for (std::size_t c = 0; c < n.carries; ++c)
      if (out[c] && !in_mask[n.consts + c]) {
        in_mask[n.consts + c] = true;
        settled = false;
      }
  }
  std::vector<bool> cond_mask;
  for (std::size_t i = 0; i < n.cond; ++i) cond_mask.push_back(r.axes[i] >= 0);
  for (std::size_t c = 0; c < n.carries; ++c) cond_mask.push_back(in_mask[n.consts + c]);
  if (dependence(*p.cond, cond_mask)[0]) return batch_as_lanes(while_op, r);

  std::vector<bool> out_mask;
  GraphRef body = carry_fixpoint(
      in_mask, n.consts, n.carries, out_mask,
      [&](const std::vector<bool>& ins, const std::vector<bool>& inst, std::vector<bool>& found) {
        return batch_graph(*p.body, r.size, ins, inst, found);
      },
      p.body->outputs().size());
  WhileParams wide = p;
  wide.body = body;
  std::vector<Aval> cond_in = input_avals(*p.cond);
  for (std::size_t c = 0; c < n.carries; ++c)
    if (in_mask[n.consts + c]) cond_in[n.cond + c] = stacked(cond_in[n.cond + c], r.size);
  // The condition does not read mapped values; zeros stand in their places.
  wide.cond = rewire(cond_in, [&](std::span<const Array> in) {
    std::vector<Array> lane(in.begin(), in.end());
    for (std::size_t c = 0; c < n.carries; ++c)
      if (in_mask[n.consts + c])
        lane[n.cond + c] = lax::full_like(p.cond->aval(static_cast<ValueId>(n.cond + c)), 0);
    return interpret(*p.cond, lane);
  });
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    bool mapped = i >= n.cond && in_mask[i - n.cond];
    operands.push_back(mapped ? with_axis(r.operands[i], r.axes[i], 0, r.size) : r.operands[i]);
  }
  r.outs = bind_region(while_op, make_params(wide), operands);
  for (bool mapped : out_mask) r.out_axes.push_back(mapped ? 0 : -1);
}

}  // namespace

const Op while_op = {
    .name = "while",
    .kind = OpKind::While,
    .shape = while_shape,
    .evaluate = while_evaluate,
    .jvp = while_jvp,
    .linearize = while_linearize,
    .batch = while_batch,
    .jet = while_jet,
    .parse = parse_params<WhileParams>,
};

}  // namespace apsis::detail
