#include <algorithm>

#include "ir/graph.hpp"
#include "ops/complex.hpp"
#include "ops/index_rules.hpp"
#include "ops/operand_axis.hpp"

namespace apsis::detail {

Landing landing(const PadParams& p, const View& in, const View& out) {
  Landing land{in, out};
  for (std::size_t i = 0; i < in.shape.size(); ++i) {
    std::int64_t step = p.interior[i] + 1;
    std::int64_t first = p.low[i] >= 0 ? 0 : (-p.low[i] + step - 1) / step;  // low + first·step ≥ 0
    std::int64_t room = out.shape[i] - 1 - p.low[i];                         // low + last·step < out
    std::int64_t last = room < 0 ? -1 : std::min(in.shape[i] - 1, room / step);
    land.from.shape[i] = land.to.shape[i] = std::max<std::int64_t>(last - first + 1, 0);
    land.from.offset += first * land.from.strides[i];
    land.to.offset += (p.low[i] + first * step) * land.to.strides[i];
    land.to.strides[i] *= step;
  }
  return land;
}

namespace {

void pad_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 2);
  const auto& p = params.as<PadParams>();
  const Shape& from = in[0].shape();
  APSIS_ASSERT(in[1].rank() == 0 && in[1].dtype() == in[0].dtype());
  APSIS_ASSERT(p.low.size() == from.size() && p.high.size() == from.size() &&
               p.interior.size() == from.size());
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    APSIS_ASSERT(p.interior[i] >= 0);
    constexpr std::int64_t most = std::int64_t{1} << 60;
    std::int64_t between = 0;
    APSIS_ASSERT(!__builtin_mul_overflow(std::max<std::int64_t>(from[i] - 1, 0), p.interior[i], &between));
    for (std::int64_t n : {p.low[i], p.high[i], between}) APSIS_ASSERT(n >= -most && n <= most);
    shape.push_back(p.low[i] + p.high[i] + from[i] + between);
    APSIS_ASSERT(shape[i] >= 0);
  }
  out.push_back(Aval(in[0].dtype(), shape, in[0].weak() && in[1].weak()));
}

void pad_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  std::size_t item = item_size(out[0].dtype());
  fill_elements(mutable_data<char>(out[0]), data_of(in[1]), out[0].size(), item);
  Landing land =
      landing(params.as<PadParams>(), View::contiguous(in[0].shape()), View::contiguous(out[0].shape()));
  StridedCopy(land.from.shape, land.from.strides, land.to.strides, item)
      .run(data_of(in[0]), land.from.offset, mutable_data<char>(out[0]), land.to.offset);
}

void pad_emit(Emitter&, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
              std::span<const Aval> out_avals, std::span<Value> out) {
  std::ranges::fill(out, in.back());
  Landing land = landing(params.as<PadParams>(), View::contiguous(in_avals[0].shape()),
                         View::contiguous(out_avals[0].shape()));
  for (std::int64_t i = 0, n = land.from.shape.product(); i < n; ++i)
    out[static_cast<std::size_t>(land.to.at(i))] = in[static_cast<std::size_t>(land.from.at(i))];
}

void pad_jvp(const JvpRule& r) {
  bind(pad_op, r.params, r.primals, r.outs);
  r.out_tangents[0] =
      bind1(pad_op, r.params, {or_zeros(r.tangents[0], r.primals[0]), or_zeros(r.tangents[1], r.primals[1])});
}

// The array's cotangent is what it landed on; the value's is all the rest.
void pad_transpose(const TransposeRule& r) {
  const Array& cotangent = r.cotangents[0];
  if (cotangent.is_empty()) return;
  const auto& p = r.params.as<PadParams>();
  const Shape& shape = r.out[0].aval().shape();
  Dims low = p.low, high = p.high, stride = p.interior;
  for (std::size_t i = 0; i < low.size(); ++i) {
    low[i] = -low[i];
    high[i] = -high[i];
    ++stride[i];
  }
  Array uncropped = lax::pad(cotangent, literal(cotangent.dtype(), 0), low, high);
  Array landed = lax::slice(uncropped, Dims::filled(shape.size(), 0), uncropped.shape(), stride);
  r.out[0].add(landed);
  if (!r.out[1].is_linear()) return;
  Dims axes = Dims::counting(shape.size());
  r.out[1].add(lax::sub(lax::reduce_sum(cotangent, axes), lax::reduce_sum(landed, axes)));
}

void pad_batch(const BatchRule& r) {
  PadParams p = r.params.as<PadParams>();
  if (r.axes[1] < 0) {
    auto axis = static_cast<std::size_t>(r.axes[0]);
    p.low.insert(axis, 0);
    p.high.insert(axis, 0);
    p.interior.insert(axis, 0);
    r.outs.push_back(lax::pad(r.operands[0], r.operands[1], p.low, p.high, p.interior));
    r.out_axes.push_back(r.axes[0]);
    return;
  }
  // A value of each lane's own: pad with zeros, then put the value where the array did not land.
  Array lanes = batched_front(r.operands[0], r.axes[0], r.size);
  Shape lane_shape = lanes.shape();
  lane_shape.erase(0);
  Array landed =
      lax::pad(lax::full(lane_shape, Dtype::Bool, 1), literal(Dtype::Bool, 0), p.low, p.high, p.interior);
  p.low.insert(0, 0);
  p.high.insert(0, 0);
  p.interior.insert(0, 0);
  Array padded = lax::pad(lanes, literal(lanes.dtype(), 0), p.low, p.high, p.interior);
  r.outs.push_back(lax::select(batched_front(landed, -1, r.size), padded,
                               lax::broadcast_in_dim(r.operands[1], padded.shape(), {0})));
  r.out_axes.push_back(0);
}

bool pad_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                 std::span<ValueId> results, Loc loc) {
  if (move_parts(builder, pad_op, params, operands, results, loc)) return true;
  const auto& p = params.as<PadParams>();
  Dims none = Dims::filled(p.low.size(), 0);
  if (!(p.low == none && p.high == none)) return false;
  for (std::size_t i = 0; i < none.size(); ++i)
    if (p.interior[i] != 0 && builder.aval(operands[0]).shape()[i] > 1) return false;
  if (builder.aval(operands[0]).weak() && !builder.aval(operands[1]).weak()) return false;
  results[0] = operands[0];
  return true;
}

std::int64_t pad_operand_axis(const Params& params, std::span<const Aval> in, const Aval& out, std::size_t k,
                              std::int64_t axis) {
  if (k > 0) return -1;
  const auto& p = params.as<PadParams>();
  const auto at = static_cast<std::size_t>(axis);
  return p.low[at] == 0 && p.interior[at] == 0 && same_length(in[0], out, axis) ? axis : -1;
}

}  // namespace

const Op pad_op = {
    .name = "pad",
    .kind = OpKind::Index,
    .shape = pad_shape,
    .evaluate = pad_evaluate,
    .jvp = pad_jvp,
    .transpose = pad_transpose,
    .batch = pad_batch,
    .emit_unrolled = pad_emit,
    .rewrite = pad_rewrite,
    .parse = parse_params<PadParams>,
    .moves = true,
    .fused_read = FusedRead::Padded,
    .cheap = true,
    .operand_axis = pad_operand_axis,
    .moves_cotangents = 1,
};

}  // namespace apsis::detail
