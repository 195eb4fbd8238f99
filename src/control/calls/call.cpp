// call: a region run as a function. A jitted function met under another trace becomes one.

#include "control/common/call_rules.hpp"

namespace apsis::detail {
namespace {

void call_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  called_shape("call", params, in, out);
}
void call_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  called_evaluate(call_op, params, in, out);
}
void call_jvp(const JvpRule& r) { called_jvp(call_op, r); }
void call_linearize(const LinearizeRule& r) { called_linearize(call_op, r); }
void call_transpose(const TransposeRule& r) { called_transpose(call_op, r); }
void call_batch(const BatchRule& r) { called_batch(call_op, r); }

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
    .jet = called_jet,
    .parse = parse_params<CallParams>,
    .takes_conditions = true,
};

}  // namespace apsis::detail
