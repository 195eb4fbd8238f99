// while: a loop as long as a condition holds. It may append values to lists, which is how reverse mode keeps
// its tape.

#include "codegen/builder/messages.hpp"
#include "codegen/support/cancel.hpp"
#include "control/common/messages.hpp"
#include "control/flow/loop_rules.hpp"
#include "control/flow/while_rules.hpp"
#include "control/tape/recording.hpp"
#include "runtime/region.hpp"

namespace apsis::detail {
namespace {

const WhileParams& while_of(const Params& params) { return params.as<WhileParams>(); }

void while_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  {
    const auto& q = while_of(params);
    const auto left = static_cast<std::int64_t>(in.size());
    APSIS_ASSERT(q.cond && q.body && q.kind <= LoopKind::Sensitivities && q.max_steps >= -1);
    APSIS_ASSERT(q.cond_consts >= 0 && q.cond_consts <= left && q.body_consts >= 0 &&
                 q.body_consts <= left - q.cond_consts && q.carries == left - q.cond_consts - q.body_consts);
  }
  const auto& p = while_of(params);
  Loop n(p);
  std::vector<Aval> cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n.cond_consts));
  auto carry = in.subspan(n.first_carry());
  cond_in.insert(cond_in.end(), carry.begin(), carry.end());
  check_region_operands("while_loop", *p.cond, cond_in);
  check_region_operands("while_loop", *p.body, in.subspan(n.cond_consts));
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
  Loop n(p);
  std::vector<Array> cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n.cond_consts));
  std::vector<Array> body_in(in.begin() + static_cast<std::ptrdiff_t>(n.cond_consts), in.end());
  append(cond_in, in.subspan(n.first_carry()));
  std::vector<std::vector<Array>> lists(out.size() - n.carries);
  for (std::int64_t step = 0; interpret(*p.cond, cond_in)[0].item<bool>(); ++step) {
    if (p.max_steps >= 0 && step >= p.max_steps)
      fail(messages::max_steps_exceeded, {std::to_string(p.max_steps)});
    poll_cancelled();
    std::vector<Array> results = interpret(*p.body, body_in);
    for (std::size_t c = 0; c < n.carries; ++c)
      cond_in[n.cond_consts + c] = body_in[n.consts + c] = results[c];
    for (std::size_t y = 0; y < lists.size(); ++y) lists[y].push_back(results[n.carries + y]);
  }
  for (std::size_t c = 0; c < n.carries; ++c) out[c] = body_in[n.consts + c];
  std::vector<Aval> results = output_avals(*p.body);
  for (std::size_t y = 0; y < lists.size(); ++y)
    out[n.carries + y] = make_list(list_of(results[n.carries + y]), std::move(lists[y]));
}

std::vector<Array> bind_while(const WhileParams& loop, std::span<const Array> operands) {
  return bind_all(while_op, make_params(loop), operands);
}

/// The loop, keeping a tape: the carries that the tangent body reads; and the tangent loop over it, which is
/// bound under `trace`. Returns the results of the latter.
std::vector<Array> taped_while(const WhileParams& p, const Graph& tangent, std::span<const Array> operands,
                               const LoopTangents& tangents, Trace* trace, std::vector<Array>& results) {
  Loop n(p);
  Recording recording(*p.body, tangent, n.consts, n.carries, true);
  WhileParams primal = p;
  primal.body = recording.body;
  results = bind_while(primal, operands);

  // The tangent loop scans the tape: consts = (body consts, unchanging carries, tangent consts), carry =
  // tangent carry.
  std::vector<Array> linear;
  append(linear, operands.subspan(n.cond_consts, n.consts));
  for (std::size_t c : recording.unchanging) linear.push_back(operands[n.first_carry() + c]);
  append(linear, tangents.consts);
  auto consts = static_cast<std::int64_t>(linear.size());
  append(linear, tangents.carry);
  append(linear, std::span(results).subspan(p.body->outputs().size()));
  ScanParams over_tape{recording.tangent_body(*p.body, 0, n.consts, n.carries), consts,
                       static_cast<std::int64_t>(tangents.carry.size()), -1, false};
  TraceScope scope(trace);
  return bind_all(scan_op, make_params(over_tape), linear);
}

void while_jvp(const JvpRule& r) { jvp_while(while_of(r.params), bind_while, r); }
void while_jet(const JetRule& r) { jet_while(while_of(r.params), bind_while, r); }
void while_linearize(const LinearizeRule& r) {
  linearize_while(while_op, while_of(r.params), bind_while, taped_while, r);
}
void while_batch(const BatchRule& r) { batch_while(while_op, while_of(r.params), bind_while, r); }

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
