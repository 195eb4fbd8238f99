#include "ops/operand_axis.hpp"
#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

void broadcast_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const auto& p = params.as<BroadcastParams>();
  APSIS_ASSERT(p.axes.size() == in[0].shape().size());
  for (std::size_t i = 0; i < p.axes.size(); ++i) {
    APSIS_ASSERT(p.axes[i] >= 0 && p.axes[i] < p.shape.rank());
    std::int64_t size = in[0].shape()[i];
    APSIS_ASSERT(size == 1 || size == p.shape[static_cast<std::size_t>(p.axes[i])]);
    for (std::size_t j = 0; j < i; ++j) APSIS_ASSERT(p.axes[j] != p.axes[i]);
  }
  out.push_back(Aval(in[0].dtype(), p.shape, in[0].weak()));
}

bool broadcast_view(const Params& params, const Aval& out, const View& in, View& result) {
  const auto& p = params.as<BroadcastParams>();
  result = {out.shape(), Dims::filled(out.shape().size(), 0), in.offset};
  for (std::size_t i = 0; i < p.axes.size(); ++i)
    if (in.shape[i] != 1) result.strides[static_cast<std::size_t>(p.axes[i])] = in.strides[i];
  return true;
}

// The sum over the axes that were added or stretched, back in the operand's order of axes.
void broadcast_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  const auto& p = r.params.as<BroadcastParams>();
  const Shape& shape = r.out[0].aval().shape();
  Dims summed, kept;  // `kept`: result axes left after the sum, in order
  for (std::int64_t axis = 0; axis < p.shape.rank(); ++axis) {
    std::int64_t source = -1;
    for (std::size_t i = 0; i < p.axes.size(); ++i)
      if (p.axes[i] == axis) source = static_cast<std::int64_t>(i);
    bool stretched =
        source >= 0 && shape[static_cast<std::size_t>(source)] != p.shape[static_cast<std::size_t>(axis)];
    if (source < 0 || stretched)
      summed.push_back(axis);
    else
      kept.push_back(source);
  }
  Array sum = summed.empty() ? r.cotangents[0] : lax::reduce_sum(r.cotangents[0], summed);
  Dims permutation;
  for (std::int64_t source = 0; source < shape.rank(); ++source)
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (kept[i] == source) permutation.push_back(static_cast<std::int64_t>(i));
  r.out[0].add(lax::reshape(lax::transpose(sum, permutation), shape));
}

void broadcast_batch(const BatchRule& r) {
  const auto& p = r.params.as<BroadcastParams>();
  BroadcastParams batched = p;
  batched.shape.insert(0, r.size);
  for (std::int64_t& axis : batched.axes) ++axis;
  batched.axes.insert(static_cast<std::size_t>(r.axes[0]), 0);
  r.outs.push_back(bind1(broadcast_in_dim_op, make_params(batched), {r.operands[0]}));
  r.out_axes.push_back(0);
}

bool broadcast_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                       std::span<ValueId> results, Loc loc) {
  if (rewrite_view(builder, broadcast_in_dim_op, params, operands[0], results[0], loc)) return true;
  const auto& p = params.as<BroadcastParams>();
  const Eqn* inner = builder.definition(operands[0]);
  if (!inner) return false;
  if (inner->op == &broadcast_in_dim_op) {
    BroadcastParams merged{p.shape, {}};
    for (std::int64_t axis : inner->params.as<BroadcastParams>().axes)
      merged.axes.push_back(p.axes[static_cast<std::size_t>(axis)]);
    ValueId source = builder.operands(*inner)[0];
    builder.add(broadcast_in_dim_op, make_params(merged), {&source, 1}, results, loc);
    return true;
  }
  // A scalar with axes of size 1 put around it.
  if (inner->op->view_kind == ViewKind::Reshaped && builder.aval(builder.operands(*inner)[0]).rank() == 0) {
    ValueId source = builder.operands(*inner)[0];
    builder.add(broadcast_in_dim_op, make_params(BroadcastParams{p.shape, {}}), {&source, 1}, results, loc);
    return true;
  }
  return false;
}

std::int64_t broadcast_operand_axis(const Params& params, std::span<const Aval> in, const Aval& out,
                                    std::size_t, std::int64_t axis) {
  const std::int64_t of = place_in(params.as<BroadcastParams>().axes, axis);
  const bool stretched =
      of >= 0 && in[0].shape()[static_cast<std::size_t>(of)] != out.shape()[static_cast<std::size_t>(axis)];
  return stretched ? -1 : of;
}

}  // namespace

const Op broadcast_in_dim_op = {
    .name = "broadcast_in_dim",
    .kind = OpKind::View,
    .shape = broadcast_shape,
    .evaluate = evaluate_view<broadcast_view>,
    .jvp = jvp_of_linear<broadcast_in_dim_op>,
    .transpose = broadcast_transpose,
    .batch = broadcast_batch,
    .emit_unrolled = emit_view<broadcast_view>,
    .view = broadcast_view,
    .rewrite = broadcast_rewrite,
    .parse = parse_params<BroadcastParams>,
    .spreads_nan = true,
    .moves = true,
    .view_kind = ViewKind::Repeated,
    .operand_axis = broadcast_operand_axis,
};

}  // namespace apsis::detail
