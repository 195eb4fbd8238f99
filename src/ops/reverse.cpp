#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

void reverse_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const Dims& axes = params.as<ReverseParams>().axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    APSIS_ASSERT(axes[i] >= 0 && axes[i] < in[0].rank());
    for (std::size_t j = 0; j < i; ++j) APSIS_ASSERT(axes[j] != axes[i]);
  }
  out.push_back(in[0]);
}

bool reverse_view(const Params& params, const Aval& out, const View& in, View& result) {
  result = {out.shape(), in.strides, in.offset};
  if (out.size() == 0) return true;
  for (std::int64_t a : params.as<ReverseParams>().axes) {
    auto axis = static_cast<std::size_t>(a);
    result.offset += (in.shape[axis] - 1) * in.strides[axis];
    result.strides[axis] = -in.strides[axis];
  }
  return true;
}

void reverse_transpose(const TransposeRule& r) {
  if (!r.cotangents[0].is_empty()) r.out[0].add(bind1(reverse_op, r.params, {r.cotangents[0]}));
}

void reverse_batch(const BatchRule& r) {
  Dims axes = r.params.as<ReverseParams>().axes;
  for (std::int64_t& axis : axes) axis += axis >= r.axes[0];
  r.outs.push_back(lax::reverse(r.operands[0], axes));
  r.out_axes.push_back(r.axes[0]);
}

bool reverse_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                     std::span<ValueId> results, Loc loc) {
  if (rewrite_view(builder, reverse_op, params, operands[0], results[0], loc)) return true;
  const Eqn* inner = builder.definition(operands[0]);
  if (!inner || inner->op != &reverse_op || !(inner->params == params)) return false;
  results[0] = builder.operands(*inner)[0];
  return true;
}

std::int64_t reverse_operand_axis(const Params& params, std::span<const Aval>, const Aval&, std::size_t,
                                  std::int64_t axis) {
  return params.as<ReverseParams>().axes.contains(axis) ? -1 : axis;
}

}  // namespace

const Op reverse_op = {
    .name = "reverse",
    .kind = OpKind::View,
    .shape = reverse_shape,
    .evaluate = evaluate_view<reverse_view>,
    .jvp = jvp_of_linear<reverse_op>,
    .transpose = reverse_transpose,
    .batch = reverse_batch,
    .emit_unrolled = emit_view<reverse_view>,
    .view = reverse_view,
    .rewrite = reverse_rewrite,
    .parse = parse_params<ReverseParams>,
    .spreads_nan = true,
    .moves = true,
    .view_kind = ViewKind::Reversed,
    .operand_axis = reverse_operand_axis,
    .moves_cotangents = 1,
};

}  // namespace apsis::detail
