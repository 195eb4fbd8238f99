// checkpoint_name: its operand, and a name for it.

#include "ops/table.hpp"
#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

void checkpoint_name_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  out.push_back(in[0]);
}

bool checkpoint_name_view(const Params&, const Aval&, const View& in, View& result) {
  result = in;
  return true;
}

void checkpoint_name_jvp(const JvpRule& r) {
  r.outs[0] = bind1(checkpoint_name_op, r.params, {r.primals[0]});
  r.out_tangents[0] = r.tangents[0];
}

void checkpoint_name_batch(const BatchRule& r) {
  r.outs.push_back(bind1(checkpoint_name_op, r.params, {r.operands[0]}));
  r.out_axes.push_back(r.axes[0]);
}

}  // namespace

const Op checkpoint_name_op = {
    .name = "checkpoint_name",
    .kind = OpKind::View,
    .shape = checkpoint_name_shape,
    .evaluate = evaluate_view<checkpoint_name_view>,
    .jvp = checkpoint_name_jvp,
    .batch = checkpoint_name_batch,
    .emit_unrolled = emit_view<checkpoint_name_view>,
    .view = checkpoint_name_view,
    .parse = parse_params<CheckpointNameParams>,
    .moves = true,
};

}  // namespace apsis::detail
