#include "ops/view_rules.hpp"

#include "ops/complex.hpp"

namespace apsis::detail {

bool find_splat(const GraphBuilder& builder, ValueId v, ValueId& scalar) {
  const Eqn* e = builder.definition(v);
  if (!e || e->op->view_kind != ViewKind::Repeated) return false;
  ValueId source = builder.operands(*e)[0];
  if (builder.aval(source).rank() != 0) return false;
  scalar = source;
  return true;
}

bool rewrite_view(GraphBuilder& builder, const Op& op, const Params& params, ValueId operand, ValueId& result,
                  Loc loc) {
  std::vector<Aval> out;
  op.shape(params, {&builder.aval(operand), 1}, out);
  if (out[0] == builder.aval(operand)) {
    View view, contiguous = View::contiguous(out[0].shape());
    // An axis of size 1 may have any stride.
    if (op.view(params, out[0], contiguous, view) && view.offset == 0 && view.is_contiguous()) {
      result = operand;
      return true;
    }
  }
  if (move_parts(builder, op, params, {&operand, 1}, {&result, 1}, loc)) return true;
  ValueId scalar;
  if (op.view_kind != ViewKind::Repeated && find_splat(builder, operand, scalar)) {
    builder.add(broadcast_in_dim_op, make_params(BroadcastParams{out[0].shape(), {}}), {&scalar, 1},
                {&result, 1}, loc);
    return true;
  }
  return false;
}

}  // namespace apsis::detail
