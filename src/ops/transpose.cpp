#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

void transpose_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const auto& p = params.as<TransposeParams>();
  APSIS_ASSERT(p.permutation.rank() == in[0].rank());
  Shape shape;
  for (std::int64_t axis = 0; axis < in[0].rank(); ++axis) APSIS_ASSERT(p.permutation.contains(axis));
  for (std::int64_t axis = 0; axis < in[0].rank(); ++axis) {
    shape.push_back(in[0].shape()[static_cast<std::size_t>(p.permutation[static_cast<std::size_t>(axis)])]);
  }
  out.push_back(Aval(in[0].dtype(), shape, in[0].weak()));
}

bool transpose_view(const Params& params, const Aval& out, const View& in, View& result) {
  result = {out.shape(), {}, in.offset};
  for (std::int64_t axis : params.as<TransposeParams>().permutation)
    result.strides.push_back(in.strides[static_cast<std::size_t>(axis)]);
  return true;
}

void transpose_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  const auto& p = r.params.as<TransposeParams>();
  Dims inverse = p.permutation;
  for (std::size_t i = 0; i < inverse.size(); ++i)
    inverse[static_cast<std::size_t>(p.permutation[i])] = static_cast<std::int64_t>(i);
  r.out[0].add(lax::transpose(r.cotangents[0], inverse));
}

void transpose_batch(const BatchRule& r) {
  Dims permutation{r.axes[0]};
  for (std::int64_t axis : r.params.as<TransposeParams>().permutation)
    permutation.push_back(axis < r.axes[0] ? axis : axis + 1);
  r.outs.push_back(lax::transpose(r.operands[0], permutation));
  r.out_axes.push_back(0);
}

bool transpose_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                       std::span<ValueId> results, Loc loc) {
  if (rewrite_view(builder, transpose_op, params, operands[0], results[0], loc)) return true;
  const Eqn* inner = builder.definition(operands[0]);
  if (!inner || inner->op != &transpose_op) return false;
  const auto& first = inner->params.as<TransposeParams>().permutation;
  TransposeParams merged;
  for (std::int64_t axis : params.as<TransposeParams>().permutation)
    merged.permutation.push_back(first[static_cast<std::size_t>(axis)]);
  ValueId source = builder.operands(*inner)[0];
  builder.add(transpose_op, make_params(merged), {&source, 1}, results, loc);
  return true;
}

std::int64_t transpose_operand_axis(const Params& params, std::span<const Aval>, const Aval&, std::size_t,
                                    std::int64_t axis) {
  return params.as<TransposeParams>().permutation[static_cast<std::size_t>(axis)];
}

}  // namespace

const Op transpose_op = {
    .name = "transpose",
    .kind = OpKind::View,
    .shape = transpose_shape,
    .evaluate = evaluate_view<transpose_view>,
    .jvp = jvp_of_linear<transpose_op>,
    .transpose = transpose_transpose,
    .batch = transpose_batch,
    .emit_unrolled = emit_view<transpose_view>,
    .view = transpose_view,
    .rewrite = transpose_rewrite,
    .parse = parse_params<TransposeParams>,
    .spreads_nan = true,
    .moves = true,
    .view_kind = ViewKind::Permuted,
    .operand_axis = transpose_operand_axis,
    .moves_cotangents = 1,
};

}  // namespace apsis::detail
