#include "ops/operand_axis.hpp"
#include "ops/view_rules.hpp"

namespace apsis::detail {
namespace {

void slice_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 1);
  const auto& p = params.as<SliceParams>();
  const Shape& from = in[0].shape();
  APSIS_ASSERT(p.start.size() == from.size() && p.limit.size() == from.size() &&
               p.stride.size() == from.size());
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    APSIS_ASSERT(0 <= p.start[i] && p.start[i] <= p.limit[i] && p.limit[i] <= from[i] && p.stride[i] > 0);
    shape.push_back((p.limit[i] - p.start[i] + p.stride[i] - 1) / p.stride[i]);
  }
  out.push_back(Aval(in[0].dtype(), shape, in[0].weak()));
}

bool slice_view(const Params& params, const Aval& out, const View& in, View& result) {
  const auto& p = params.as<SliceParams>();
  result = {out.shape(), in.strides, in.offset};
  for (std::size_t i = 0; i < p.start.size(); ++i) {
    result.offset += p.start[i] * in.strides[i];
    result.strides[i] *= p.stride[i];
  }
  return true;
}

// Zeros around the cotangent, and between its entries where the slice was strided.
void slice_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  const auto& p = r.params.as<SliceParams>();
  const Shape &whole = r.out[0].aval().shape(), &part = r.cotangents[0].shape();
  Dims high, interior;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::int64_t covered = part[i] == 0 ? 0 : (part[i] - 1) * p.stride[i] + 1;
    high.push_back(whole[i] - p.start[i] - covered);
    interior.push_back(p.stride[i] - 1);
  }
  r.out[0].add(lax::pad(r.cotangents[0], literal(r.out[0].aval().dtype(), 0), p.start, high, interior));
}

void slice_batch(const BatchRule& r) {
  SliceParams p = r.params.as<SliceParams>();
  auto axis = static_cast<std::size_t>(r.axes[0]);
  p.start.insert(axis, 0);
  p.limit.insert(axis, r.size);
  p.stride.insert(axis, 1);
  r.outs.push_back(bind1(slice_op, make_params(p), {r.operands[0]}));
  r.out_axes.push_back(r.axes[0]);
}

bool slice_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                   std::span<ValueId> results, Loc loc) {
  if (rewrite_view(builder, slice_op, params, operands[0], results[0], loc)) return true;
  const Eqn* inner = builder.definition(operands[0]);
  if (!inner || inner->op != &slice_op) return false;
  const auto &first = inner->params.as<SliceParams>(), &second = params.as<SliceParams>();
  SliceParams merged;
  for (std::size_t i = 0; i < first.start.size(); ++i) {
    std::int64_t count = (second.limit[i] - second.start[i] + second.stride[i] - 1) / second.stride[i];
    std::int64_t stride = first.stride[i] * second.stride[i];
    std::int64_t start = count == 0 ? 0 : first.start[i] + second.start[i] * first.stride[i];
    merged.start.push_back(start);
    merged.limit.push_back(count == 0 ? 0 : start + (count - 1) * stride + 1);
    merged.stride.push_back(stride);
  }
  ValueId source = builder.operands(*inner)[0];
  builder.add(slice_op, make_params(merged), {&source, 1}, results, loc);
  return true;
}

std::int64_t slice_operand_axis(const Params& params, std::span<const Aval> in, const Aval& out, std::size_t,
                                std::int64_t axis) {
  const bool whole = params.as<SliceParams>().stride[static_cast<std::size_t>(axis)] == 1;
  return whole && same_length(in[0], out, axis) ? axis : -1;
}

}  // namespace

const Op slice_op = {
    .name = "slice",
    .kind = OpKind::View,
    .shape = slice_shape,
    .evaluate = evaluate_view<slice_view>,
    .jvp = jvp_of_linear<slice_op>,
    .transpose = slice_transpose,
    .batch = slice_batch,
    .emit_unrolled = emit_view<slice_view>,
    .view = slice_view,
    .rewrite = slice_rewrite,
    .parse = parse_params<SliceParams>,
    .moves = true,
    .view_kind = ViewKind::Part,
    .operand_axis = slice_operand_axis,
    .moves_cotangents = 1,
};

}  // namespace apsis::detail
