#include "control/flow/while_rules.hpp"

#include "control/common/messages.hpp"
#include "control/flow/lane_loops.hpp"
#include "control/flow/loop_rules.hpp"
#include "control/flow/masked_updates.hpp"
#include "control/flow/tangent_columns.hpp"
#include "ir/effects.hpp"
#include "ir/interpret_with.hpp"
#include "ops/lax.hpp"
#include "transform/batch/batch.hpp"
#include "transform/checks/op_checks.hpp"
#include "transform/derivatives/jet.hpp"
#include "transform/derivatives/jvp.hpp"

namespace apsis::detail {
namespace {

/// The loop over primals and derivatives: `make` transforms the body, `tangents` gives those of the operands
/// that are marked in the end.
template <class Make, class Tangents>
std::vector<Array> widened_while(const WhileParams& p, const BindWhile& bind_loop,
                                 std::span<const Array> primals, std::vector<bool> in_mask,
                                 std::size_t copies, std::vector<bool>& out_mask, Make&& make,
                                 Tangents&& tangents) {
  Loop n(p);
  GraphRef body = carry_fixpoint(in_mask, n.consts, n.carries, out_mask, make, p.body->outputs().size());
  Widening w({n.consts, n.carries, 0}, in_mask, out_mask, copies);
  WhileParams wide = p;
  wide.body = w.interleave(*body);
  wide.body_consts = static_cast<std::int64_t>(w.width(0));
  wide.carries = static_cast<std::int64_t>(w.width(1));
  // The condition ignores the tangents.
  std::vector<Aval> cond_in = input_avals(*p.cond), body_in = input_avals(*wide.body);
  cond_in.insert(cond_in.end(), body_in.begin() + static_cast<std::ptrdiff_t>(w.width(0) + n.carries),
                 body_in.end());
  wide.cond = rewire(cond_in, [&](std::span<const Array> in) {
    return interpret(*p.cond, in.first(n.cond_consts + n.carries));
  });
  std::vector<Array> operands(primals.begin(), primals.begin() + static_cast<std::ptrdiff_t>(n.cond_consts));
  append(operands, w.operands(primals.subspan(n.cond_consts), tangents(in_mask)));
  return w.tangents_last(bind_loop(wide, operands));
}

/// The values of the first lane that goes on in the place of those of lanes that have ended, which would else
/// run on where the program never ran: into loops within that do not end there, or infinite slopes, which
/// times a zero cotangent are NaN.
Array from_lanes_that_go_on(const Array& a, const Array& going, std::int64_t lanes) {
  if (lanes == 0) return a;
  const Shape each{lanes};
  const Array last = lax::full(each, Dtype::I64, static_cast<double>(lanes - 1));
  const Array first = lax::reduce_min(lax::select(going, lax::iota(Dtype::I64, each, 0), last), {0});
  Dims axes;
  for (int i = 1; i < a.ndim(); ++i) axes.push_back(i);
  const Array stand_in =
      lax::broadcast_in_dim(lax::stop_gradient(lax::dynamic_index(a, first)), a.shape(), axes);
  return lax::select(lax::broadcast_in_dim(going, a.shape(), {0}), a, stand_in);
}

/// Whether an equation takes a smaller part of each lane, the lanes staying along axis 0.
bool takes_parts_of_lanes(const Graph& graph, const Eqn& e) {
  const bool at_indices = (e.op->starts >= 0 || e.op->places) && e.op->updates < 0;
  if (e.op->view_kind != ViewKind::Part && !at_indices) return false;
  const Aval &from = graph.aval(graph.operands(e)[0]), &part = graph.aval(e.first_result);
  if (part.size() >= from.size() || part.rank() == 0) return false;
  return operand_axis(graph, e, 0, 0) == 0;
}

/// Inputs of a program over all lanes that it reads in such parts only.
std::vector<char> read_in_parts(const Graph& graph) {
  std::vector<char> in_parts(graph.value_count(), 1);
  for (const Eqn& e : graph.eqns()) {
    const auto operands = graph.operands(e);
    for (std::size_t i = takes_parts_of_lanes(graph, e) ? 1 : 0; i < operands.size(); ++i)
      in_parts[operands[i]] = 0;
  }
  for (ValueId v : graph.outputs()) in_parts[v] = 0;
  in_parts.resize(graph.input_count());
  return in_parts;
}

/// The program for lanes of which some have ended: these get the values of one that goes on, where `stand_in`
/// says that an input differs from lane to lane. Of what is read in parts they get the parts.
std::vector<Array> run_for_lanes_that_go_on(const Graph& graph, std::vector<Array> inputs,
                                            const std::vector<bool>& stand_in, const Array& going,
                                            std::int64_t lanes) {
  const std::vector<char> in_parts = read_in_parts(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (stand_in[i] && !in_parts[i]) inputs[i] = from_lanes_that_go_on(inputs[i], going, lanes);
  return interpret_with(graph, inputs,
                        [&](const Eqn& e, auto&&, std::vector<Array>& in, std::span<Array> out) {
                          apsis::bind(*e.op, e.params, in, out, e.loc);
                          const std::size_t from = e.operand_count > 0 ? graph.operands(e)[0] : inputs.size();
                          if (from < inputs.size() && stand_in[from] && in_parts[from])
                            out[0] = from_lanes_that_go_on(out[0], going, lanes);
                        });
}

/// Lanes that differ in length, in lockstep: all run as long as one of them goes on. A lane that has ended
/// keeps its carry: the parts of it that an iteration updates, or all of it. The predicate of each lane is
/// carried along, so that it is computed once an iteration.
void batch_in_lockstep(const Op& op, const WhileParams& p, const BindWhile& bind_loop, const BatchRule& r) {
  Loop n(p);
  // Collectives over the lanes see those that have ended with what they ended with.
  const bool together = uses_axis(op, r.params, r.size.name);
  std::string axis(r.size.name);
  if (p.body->outputs().size() > n.carries) fail(messages::lockstep_tape, {axis});
  if (has_effect_in_lanes(*p.body) || has_effect_in_lanes(*p.cond)) fail(messages::lockstep_effect, {axis});
  std::vector<bool> mask, out_mask;
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    bool carry = i >= n.first_carry();
    mask.push_back(carry || r.axes[i] >= 0);
    operands.push_back(mask[i] ? with_axis(r.operands[i], r.axes[i], 0, r.size) : r.operands[i]);
  }
  std::vector<bool> cond_mask = slice_mask(mask, 0, n.cond_consts), all(n.carries, true);
  cond_mask.insert(cond_mask.end(), n.carries, true);
  GraphRef cond = batch_graph(*p.cond, r.size, cond_mask, {true}, out_mask);
  // An update that is left out has an index beyond all bounds, and the others are clamped: checks of indices
  // would see the one, and not the program's own.
  const MaskedUpdates masked(*p.body, n.consts, n.carries, !staging_is_checked());
  std::vector<bool> body_mask = slice_mask(mask, n.cond_consts, n.consts + n.carries);
  body_mask.insert(body_mask.begin(), true);
  body_mask.resize(masked.body->input_count(), true);
  GraphRef body = batch_graph(*masked.body, r.size, body_mask, all, out_mask);
  // Not of what tells who goes on, and not of what stays as it is in ended lanes.
  std::vector<bool> stand_in(body_mask.size(), false);
  if (!together)
    std::copy_n(mask.begin() + static_cast<std::ptrdiff_t>(n.cond_consts), n.consts + n.carries,
                stand_in.begin() + 1);
  auto test = [&](std::span<const Array> cond_consts, std::span<const Array> carry) {
    std::vector<Array> in(cond_consts.begin(), cond_consts.end());
    append(in, carry);
    return interpret(*cond, in)[0];
  };

  // (cond constants, body constants | predicates, carry)
  std::vector<Array> start(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(n.first_carry()));
  auto first = std::span<const Array>(operands);
  start.push_back(test(first.first(n.cond_consts), first.subspan(n.first_carry())));
  append(start, first.subspan(n.first_carry()));
  std::vector<Aval> avals, carry_avals;
  for (const Array& a : start) avals.push_back(a.aval());
  carry_avals.assign(avals.begin() + static_cast<std::ptrdiff_t>(n.first_carry()), avals.end());
  WhileParams wide = p;
  wide.cond_consts = 0;
  wide.body_consts = static_cast<std::int64_t>(n.first_carry());
  wide.carries = p.carries + 1;
  wide.cond = rewire(
      carry_avals, [](std::span<const Array> in) { return std::vector<Array>{lax::reduce_or(in[0], {0})}; });
  wide.body = rewire(avals, [&](std::span<const Array> in) {
    Array going = in[n.first_carry()];
    std::vector<Array> args(in.begin() + static_cast<std::ptrdiff_t>(n.cond_consts),
                            in.begin() + static_cast<std::ptrdiff_t>(n.first_carry()));
    auto old = in.subspan(n.first_carry() + 1);
    append(args, old);
    args.insert(args.begin(), going);
    append(args, marked(old, masked.updated));
    std::vector<Array> carry = run_for_lanes_that_go_on(*body, std::move(args), stand_in, going, r.size);
    for (std::size_t c = 0; c < carry.size(); ++c)
      if (!masked.updated[c])
        carry[c] = lax::select(lax::broadcast_in_dim(going, carry[c].shape(), {0}), carry[c], old[c]);
    carry.insert(carry.begin(), test(in.first(n.cond_consts), carry));
    return carry;
  });
  r.outs = bind_loop(wide, start);
  r.outs.erase(r.outs.begin());
  r.out_axes.assign(r.outs.size(), 0);
}

}  // namespace

void jvp_while(const WhileParams& p, const BindWhile& bind_loop, const JvpRule& r) {
  Loop n(p);
  auto primals = r.primals.subspan(n.cond_consts), tangents = r.tangents.subspan(n.cond_consts);
  std::vector<bool> out_mask;
  auto make = [&](const std::vector<bool>& inputs, const std::vector<bool>& inst, std::vector<bool>& found) {
    return jvp_graph(*p.body, inputs, inst, found);
  };
  std::vector<Array> results = widened_while(
      p, bind_loop, r.primals, not_empty(tangents), 1, out_mask, make,
      [&](const std::vector<bool>& mask) { return marked(instantiate(primals, tangents, mask), mask); });
  for (std::size_t i = 0, next = r.outs.size(); i < r.outs.size(); ++i) {
    r.outs[i] = results[i];
    if (out_mask[i]) r.out_tangents[i] = results[next++];
  }
}

void jet_while(const WhileParams& p, const BindWhile& bind_loop, const JetRule& r) {
  Loop n(p);
  auto primals = r.primals.subspan(n.cond_consts);
  auto series = r.series.subspan(n.cond_consts);
  std::vector<bool> out_mask;
  auto make = [&](const std::vector<bool>& inputs, const std::vector<bool>& inst, std::vector<bool>& found) {
    return jet_graph(*p.body, r.order, inputs, inst, found);
  };
  std::vector<Array> results =
      widened_while(p, bind_loop, r.primals, has_series(series), r.order, out_mask, make,
                    [&](const std::vector<bool>& mask) { return series_of(primals, series, r.order, mask); });
  take_jets(results, out_mask, r);
}

namespace {

/// The loop with its derivatives by the numbers that move it beside it, if these are few; else false.
bool linearize_by_columns(const WhileParams& p, const SplitLoop& body, const BindWhile& bind_loop,
                          const LinearizeRule& r) {
  const TangentColumns columns(body, r);
  if (columns.size() == 0) return false;
  std::vector<bool> out_mask;
  const std::vector<Array> results = widened_while(
      p, bind_loop, r.primals, body.in_mask, columns.size(), out_mask,
      [&](const std::vector<bool>&, const std::vector<bool>&, std::vector<bool>& found) {
        found = body.out_mask;
        return columns.body();
      },
      [&](const std::vector<bool>&) { return columns.starts(); });
  body.take(r, results, columns.tangents(std::span(results).subspan(r.outs.size())));
  return true;
}

}  // namespace

void linearize_while(const Op& op, const WhileParams& p, const BindWhile& bind_loop, const TapeWhile& tape,
                     const LinearizeRule& r) {
  const Loop n(p);
  const SplitLoop body(*p.body, r, n.cond_consts, n.consts, n.carries);
  if (!is_mixed(r) && count(body.out_mask) == 0) return apsis::bind(op, r.params, r.primals, r.outs);
  if (p.kind == LoopKind::Lax) fail(messages::lax_loop_reverse, {});
  if (p.kind == LoopKind::Sensitivities && linearize_by_columns(p, body, bind_loop, r)) return;
  WhileParams known = p;
  const auto cond_in = r.primals.first(n.cond_consts);
  std::vector<Array> operands = marked(cond_in, not_empty(cond_in)), results;
  known.cond_consts = std::ssize(operands);
  if (is_mixed(r)) {
    std::vector<bool> cond_mask = not_empty(r.tangents.first(n.cond_consts)),
                      carry_mask = slice_mask(body.in_mask, n.consts, n.carries);
    cond_mask.insert(cond_mask.end(), carry_mask.begin(), carry_mask.end());
    const Split cond = split(*p.cond, cond_mask, Marked::Unknown, Keep::Nothing, {false});
    if (body.carries == 0 || cond.out_mask[0]) return stage_whole(op, r);
    known.cond = cond.known;
  }
  known.body = body.known;
  known.body_consts = static_cast<std::int64_t>(body.consts);
  known.carries = static_cast<std::int64_t>(body.carries);
  append(operands, body.operands);
  const std::vector<Array> found =
      tape(known, *body.linear, operands, body.tangents, r.tangent_trace, results);
  body.take(r, results, found);
}

void batch_while(const Op& op, const WhileParams& p, const BindWhile& bind_loop, const BatchRule& r) {
  if (batch_of_one(op, r)) return;
  Loop n(p);
  std::vector<bool> in_mask;
  for (std::size_t i = n.cond_consts; i < r.axes.size(); ++i) in_mask.push_back(r.axes[i] >= 0);
  bool together = uses_axis(op, r.params, r.size.name);

  // Do the lanes differ in length? Then each may run at its own pace, unless they work together on the way.
  if (!together) mark_dependent_carries(*p.body, in_mask, n.consts, n.carries);
  auto cond_mask = [&] {
    std::vector<bool> mask;
    for (std::size_t i = 0; i < n.cond_consts; ++i) mask.push_back(r.axes[i] >= 0);
    for (std::size_t c = 0; c < n.carries; ++c) mask.push_back(in_mask[n.consts + c]);
    return mask;
  };
  if (!together && dependence(*p.cond, cond_mask())[0])
    return keeps_own_pace(p, r.size, std::vector<char>(in_mask.begin(), in_mask.end()))
               ? batch_as_lanes(op, r)
               : batch_in_lockstep(op, p, bind_loop, r);

  if (lists_by_lane(r)) return batch_as_lanes(op, r);
  if (!together && batch_in_registers(op, *p.body, in_mask, n.consts, n.carries, r)) return;

  std::vector<bool> out_mask, predicate_mask;
  GraphRef body = carry_fixpoint(
      in_mask, n.consts, n.carries, out_mask,
      [&](const std::vector<bool>& ins, const std::vector<bool>& inst, std::vector<bool>& found) {
        return batch_graph(*p.body, r.size, ins, inst, found);
      },
      p.body->outputs().size());
  if (records_lanes(*body)) return batch_as_lanes(op, r);
  WhileParams wide = p;
  wide.body = body;
  wide.cond = batch_graph(*p.cond, r.size, cond_mask(), {false}, predicate_mask);
  if (predicate_mask[0]) return batch_in_lockstep(op, p, bind_loop, r);
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    bool mapped = i >= n.cond_consts ? in_mask[i - n.cond_consts] : r.axes[i] >= 0;
    operands.push_back(mapped ? with_axis(r.operands[i], r.axes[i], 0, r.size) : r.operands[i]);
  }
  r.outs = bind_loop(wide, operands);
  r.out_axes = places_of_results(r, *p.body, out_mask);
}

}  // namespace apsis::detail
