// scan: a loop of known length over stacked arrays and lists, or as long as the lists are.

#include "codegen/support/cancel.hpp"
#include "control/common/messages.hpp"
#include "control/common/regions.hpp"
#include "control/flow/lane_loops.hpp"
#include "control/flow/scan_transpose.hpp"
#include "control/tape/recording.hpp"
#include "core/list.hpp"
#include "ops/lax.hpp"
#include "runtime/region.hpp"
#include "transform/batch/batch.hpp"
#include "transform/derivatives/jet.hpp"
#include "transform/derivatives/jvp.hpp"

namespace apsis::detail {
namespace {

const ScanParams& scan_of(const Params& params) { return params.as<ScanParams>(); }

Aval entry_of_xs(const Aval& xs) { return xs.is_list() ? entry_aval(xs) : unstacked(xs); }
bool makes_list(const Aval& y, const ScanParams& p) { return p.length < 0 || y.is_list(); }
Aval stack_of(const Aval& y, const ScanParams& p) {
  return makes_list(y, p) ? list_of(y) : stacked(y, p.length);
}

void scan_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  const auto& p = scan_of(params);
  const auto count = static_cast<std::int64_t>(in.size());
  APSIS_ASSERT(p.body && p.length >= -1 && p.consts >= 0 && p.consts <= count && p.carries >= 0 &&
               p.carries <= count - p.consts);
  auto first_x = static_cast<std::size_t>(p.consts + p.carries);
  APSIS_ASSERT(p.length >= 0 || first_x < in.size());
  std::vector<Aval> operands(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(first_x));
  for (const Aval& x : in.subspan(first_x)) {
    if (!x.is_list() && (x.rank() == 0 || x.shape()[0] != p.length))
      fail(messages::scan_length, {"scan", "length", std::to_string(p.length), "one of them", to_string(x)});
    APSIS_ASSERT(p.length >= 0 || x.is_list());
    APSIS_ASSERT(!of_lanes(x.list()));
    operands.push_back(entry_of_xs(x));
  }
  check_region_operands("scan", *p.body, operands);
  std::vector<Aval> results = output_avals(*p.body);
  check_carry(
      "scan",
      std::span(operands).subspan(static_cast<std::size_t>(p.consts), static_cast<std::size_t>(p.carries)),
      results);
  for (std::size_t i = 0; i < results.size(); ++i)
    out.push_back(i < static_cast<std::size_t>(p.carries) ? results[i] : stack_of(results[i], p));
}

void scan_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  if (run_compiled(scan_op, params, in, out)) return;
  const auto& p = scan_of(params);
  auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
  auto xs = in.subspan(consts + carries);
  std::int64_t length = p.length < 0 ? static_cast<std::int64_t>(entries_of(xs[0]).size()) : p.length;
  std::vector<Array> operands(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(consts + carries));
  const std::vector<Aval> avals = output_avals(*p.body);
  std::vector<std::vector<Array>> lists(out.size() - carries);
  for (std::size_t y = 0; y < lists.size(); ++y)
    if (makes_list(avals[carries + y], p)) lists[y].resize(static_cast<std::size_t>(length));
  for (std::int64_t k = 0; k < length; ++k) {
    std::int64_t i = p.reverse ? length - 1 - k : k;
    operands.resize(consts + carries);
    for (const Array& x : xs)
      operands.push_back(x.aval().is_list() ? entries_of(x)[static_cast<std::size_t>(i)] : entry_of(x, i));
    poll_cancelled();
    std::vector<Array> results = interpret(*p.body, operands);
    for (std::size_t c = 0; c < carries; ++c) operands[consts + c] = results[c];
    for (std::size_t y = 0; y < lists.size(); ++y) {
      if (makes_list(avals[carries + y], p))
        lists[y][static_cast<std::size_t>(i)] = results[carries + y];
      else
        store_entry(out[carries + y], i, results[carries + y]);
    }
  }
  for (std::size_t c = 0; c < carries; ++c) out[c] = operands[consts + c];
  for (std::size_t y = 0; y < lists.size(); ++y)
    if (makes_list(avals[carries + y], p))
      out[carries + y] = make_list(list_of(avals[carries + y]), std::move(lists[y]));
}

/// The loop over primals and derivatives, its operands (consts, tangent consts | carry, tangent carry | xs,
/// tangent xs): `make` transforms the body, `tangents` gives those of the operands that are marked in the
/// end.
template <class Make, class Tangents>
std::vector<Array> widened_scan(const ScanParams& p, std::span<const Array> primals,
                                std::vector<bool> in_mask, std::size_t copies, std::vector<bool>& out_mask,
                                Make&& make, Tangents&& tangents) {
  auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
  GraphRef body = carry_fixpoint(in_mask, consts, carries, out_mask, make, p.body->outputs().size());
  Widening w({consts, carries, primals.size() - consts - carries}, in_mask, out_mask, copies);
  ScanParams wide = p;
  wide.body = w.interleave(*body);
  wide.consts = static_cast<std::int64_t>(w.width(0));
  wide.carries = static_cast<std::int64_t>(w.width(1));
  return w.tangents_last(bind_all(scan_op, make_params(wide), w.operands(primals, tangents(in_mask))));
}

void scan_jvp(const JvpRule& r) {
  const auto& p = scan_of(r.params);
  std::vector<bool> out_mask;
  auto make = [&](const std::vector<bool>& inputs, const std::vector<bool>& inst, std::vector<bool>& found) {
    return jvp_graph(*p.body, inputs, inst, found);
  };
  std::vector<Array> results = widened_scan(
      p, r.primals, not_empty(r.tangents), 1, out_mask, make,
      [&](const std::vector<bool>& mask) { return marked(instantiate(r.primals, r.tangents, mask), mask); });
  for (std::size_t i = 0, next = r.outs.size(); i < r.outs.size(); ++i) {
    r.outs[i] = results[i];
    if (out_mask[i]) r.out_tangents[i] = results[next++];
  }
}

void scan_jet(const JetRule& r) {
  const auto& p = scan_of(r.params);
  std::vector<bool> out_mask;
  auto make = [&](const std::vector<bool>& inputs, const std::vector<bool>& inst, std::vector<bool>& found) {
    return jet_graph(*p.body, r.order, inputs, inst, found);
  };
  std::vector<Array> results = widened_scan(
      p, r.primals, has_series(r.series), r.order, out_mask, make,
      [&](const std::vector<bool>& mask) { return series_of(r.primals, r.series, r.order, mask); });
  take_jets(results, out_mask, r);
}

/// The loop, which also stacks the carries that the tangent body reads; and the tangent loop over them, which
/// is bound under `trace`. Returns the results of the latter.
std::vector<Array> taped_scan(const ScanParams& p, const Graph& tangent, std::span<const Array> operands,
                              const LoopTangents& tangents, Trace* trace, std::vector<Array>& results) {
  auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
  Recording recording(*p.body, tangent, consts, carries);
  ScanParams primal = p;
  primal.body = recording.body;
  if (!recording.body->outputs().empty() || recording.body->has_effect())
    results = bind_all(scan_op, make_params(primal), operands);

  // The tangent loop: consts = (consts, unchanging carries, tangent consts), carry = tangent carry,
  // xs = (xs, records, tangent xs).
  std::vector<Array> linear(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(consts));
  for (std::size_t c : recording.unchanging) linear.push_back(operands[consts + c]);
  append(linear, tangents.consts);
  auto linear_consts = static_cast<std::int64_t>(linear.size());
  append(linear, tangents.carry);
  append(linear, operands.subspan(consts + carries));
  append(linear, std::span(results).subspan(p.body->outputs().size()));
  append(linear, tangents.xs);
  ScanParams over_records{recording.tangent_body(*p.body, tangents.xs.size(), consts, carries), linear_consts,
                          static_cast<std::int64_t>(tangents.carry.size()), p.length, p.reverse};
  TraceScope scope(trace);
  return bind_all(scan_op, make_params(over_records), linear);
}

void scan_linearize(const LinearizeRule& r) {
  const auto& p = scan_of(r.params);
  const SplitLoop split(*p.body, r, 0, static_cast<std::size_t>(p.consts),
                        static_cast<std::size_t>(p.carries));
  if (!is_mixed(r) && count(split.out_mask) == 0) return bind(scan_op, r.params, r.primals, r.outs);
  ScanParams known = p;
  known.body = split.known;
  known.consts = static_cast<std::int64_t>(split.consts);
  known.carries = static_cast<std::int64_t>(split.carries);
  std::vector<Array> results;
  const std::vector<Array> found =
      taped_scan(known, *split.linear, split.operands, split.tangents, r.tangent_trace, results);
  split.take(r, results, found);
}

void scan_batch(const BatchRule& r) {
  if (batch_of_one(scan_op, r)) return;
  const auto& p = scan_of(r.params);
  if (lists_by_lane(r)) return batch_as_lanes(scan_op, r);
  auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
  std::vector<bool> in_mask, out_mask;
  for (int axis : r.axes) in_mask.push_back(axis >= 0);
  if (!uses_axis(scan_op, r.params, r.size.name)) {
    std::vector<bool> varying = in_mask;
    mark_dependent_carries(*p.body, varying, consts, carries);
    if (batch_in_registers(scan_op, *p.body, varying, consts, carries, r)) return;
  }
  GraphRef body = carry_fixpoint(
      in_mask, consts, carries, out_mask,
      [&](const std::vector<bool>& ins, const std::vector<bool>& inst, std::vector<bool>& found) {
        return batch_graph(*p.body, r.size, ins, inst, found);
      },
      p.body->outputs().size());
  if (records_lanes(*body)) return batch_as_lanes(scan_op, r);
  std::vector<Array> operands;
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    bool is_x = i >= consts + carries;
    int to = is_x && !r.operands[i].aval().is_list() ? 1 : 0;
    operands.push_back(in_mask[i] ? with_axis(r.operands[i], r.axes[i], to, r.size) : r.operands[i]);
  }
  ScanParams wide = p;
  wide.body = body;
  r.outs = bind_all(scan_op, make_params(wide), operands);
  for (std::size_t i = 0; i < r.outs.size(); ++i) {
    const Aval &whole = body->aval(body->outputs()[i]), &lane = p.body->aval(p.body->outputs()[i]);
    const int place = mapped_place(whole, lane) + (i < carries || r.outs[i].aval().is_list() ? 0 : 1);
    r.out_axes.push_back(out_mask[i] ? place : -1);
  }
}

}  // namespace

const Op scan_op = {
    .name = "scan",
    .kind = OpKind::Scan,
    .shape = scan_shape,
    .evaluate = scan_evaluate,
    .jvp = scan_jvp,
    .linearize = scan_linearize,
    .transpose = scan_transpose,
    .batch = scan_batch,
    .jet = scan_jet,
    .parse = parse_params<ScanParams>,
    .takes_conditions = true,
};

}  // namespace apsis::detail
