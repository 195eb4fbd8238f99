#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

void reshape_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const auto& p = params.as<ReshapeParams>();
  out.push_back(Aval(in[0].dtype(), p.shape, in[0].weak()));
  APSIS_ASSERT(out[0].size() == in[0].size());
}

// Walks both shapes in step: a group of operand axes and a group of result axes with equal products. The
// operand's axes of a group must be walkable by one stride; the result's axes then split it.
bool reshape_view(const Params&, const Aval& out, const View& in, View& result) {
  const Shape& shape = out.shape();
  result = {shape, Dims::filled(shape.size(), 0), in.offset};
  if (shape.product() == 0) return true;
  std::size_t from = 0, to = 0;
  while (to < shape.size()) {
    if (shape[to] == 1) {
      ++to;
      continue;
    }
    while (in.shape[from] == 1) ++from;
    std::size_t first_to = to;
    std::int64_t have = in.shape[from], want = shape[to++];
    std::int64_t stride = in.strides[from++];
    while (have != want) {
      if (have > want) {
        want *= shape[to++];
      } else if (in.shape[from] == 1) {
        ++from;
      } else {
        if (stride != in.shape[from] * in.strides[from]) return false;
        have *= in.shape[from];
        stride = in.strides[from++];
      }
    }
    for (std::size_t i = to; i-- > first_to; stride *= shape[i]) result.strides[i] = stride;
  }
  return true;
}

void reshape_transpose(const TransposeRule& r) {
  if (!r.cotangents[0].is_empty()) r.out[0].add(lax::reshape(r.cotangents[0], r.out[0].aval().shape()));
}

void reshape_batch(const BatchRule& r) {
  Shape shape = r.params.as<ReshapeParams>().shape;
  shape.insert(0, r.size);
  r.outs.push_back(lax::reshape(lax::move_axis(r.operands[0], r.axes[0], 0), shape));
  r.out_axes.push_back(0);
}

bool reshape_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                     std::span<ValueId> results, Loc loc) {
  if (rewrite_view(builder, reshape_op, params, operands[0], results[0], loc)) return true;
  const Eqn* inner = builder.definition(operands[0]);
  if (!inner || (inner->op != &reshape_op && inner->op->view_kind != ViewKind::Repeated)) return false;
  ValueId source = builder.operands(*inner)[0];
  if (inner->op == &reshape_op) {
    builder.add(reshape_op, params, {&source, 1}, results, loc);
    return true;
  }
  // One element repeated is the same in any shape.
  if (builder.aval(source).size() != 1) return false;
  ValueId element = source;
  if (builder.aval(source).rank() > 0)
    builder.add(reshape_op, make_params(ReshapeParams{Shape{}}), {&source, 1}, {&element, 1}, loc);
  builder.add(broadcast_in_dim_op, make_params(BroadcastParams{params.as<ReshapeParams>().shape, Dims{}}),
              {&element, 1}, results, loc);
  return true;
}

}  // namespace

const Op reshape_op = {
    .name = "reshape",
    .kind = OpKind::View,
    .shape = reshape_shape,
    .evaluate = evaluate_view<reshape_view>,
    .jvp = jvp_of_linear<reshape_op>,
    .transpose = reshape_transpose,
    .batch = reshape_batch,
    .emit_unrolled = emit_view<reshape_view>,
    .view = reshape_view,
    .rewrite = reshape_rewrite,
    .parse = parse_params<ReshapeParams>,
    .spreads_nan = true,
    .moves = true,
    .view_kind = ViewKind::Reshaped,
    .moves_cotangents = 1,
};

}  // namespace apsis::detail
