#include "ir/graph.hpp"
#include "ops/complex.hpp"
#include "ops/elementwise.hpp"
#include "ops/index_rules.hpp"
#include "ops/operand_axis.hpp"

namespace apsis::detail {
namespace {

std::size_t axis_of(const Params& params) {
  return static_cast<std::size_t>(params.as<ConcatenateParams>().axis);
}

void concatenate_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  std::size_t axis = axis_of(params);
  APSIS_ASSERT(!in.empty() && axis < in[0].shape().size());
  Shape shape = in[0].shape();
  bool weak = in[0].weak();
  for (const Aval& part : in.subspan(1)) {
    APSIS_ASSERT(part.dtype() == in[0].dtype() && part.rank() == in[0].rank());
    for (std::size_t i = 0; i < shape.size(); ++i) APSIS_ASSERT(i == axis || part.shape()[i] == shape[i]);
    shape[axis] += part.shape()[axis];
    weak = weak && part.weak();
  }
  out.push_back(Aval(in[0].dtype(), shape, weak));
}

// Offsets of each part's elements in the result: the result's strides, the part's shape.
void concatenate_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  std::size_t axis = axis_of(params), item = item_size(out[0].dtype());
  Dims strides = View::contiguous(out[0].shape()).strides;
  std::int64_t offset = 0;
  for (const Array& part : in) {
    StridedCopy(part.shape(), View::contiguous(part.shape()).strides, strides, item)
        .run(data_of(part), 0, mutable_data<char>(out[0]), offset);
    offset += part.shape()[axis] * strides[axis];
  }
}

void concatenate_emit(Emitter&, const Params& params, std::span<const Aval> in_avals,
                      std::span<const Value> in, std::span<const Aval> out_avals, std::span<Value> out) {
  std::size_t axis = axis_of(params), next = 0;
  View place{{}, View::contiguous(out_avals[0].shape()).strides, 0};
  for (const Aval& part : in_avals) {
    place.shape = part.shape();
    for (std::int64_t i = 0; i < part.size(); ++i) out[static_cast<std::size_t>(place.at(i))] = in[next++];
    place.offset += part.shape()[axis] * place.strides[axis];
  }
}

void concatenate_jvp(const JvpRule& r) {
  bind(concatenate_op, r.params, r.primals, r.outs);
  std::vector<Array> tangents;
  for (std::size_t i = 0; i < r.primals.size(); ++i)
    tangents.push_back(or_zeros(r.tangents[i], r.primals[i]));
  bind(concatenate_op, r.params, tangents, r.out_tangents);
}

void concatenate_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  std::size_t axis = axis_of(r.params);
  Dims start = Dims::filled(r.out[0].aval().shape().size(), 0), limit = r.cotangents[0].shape();
  limit[axis] = 0;
  for (std::size_t i = 0; i < r.out.size(); ++i) {
    start[axis] = limit[axis];
    limit[axis] += r.out[i].aval().shape()[axis];
    if (r.out[i].is_linear()) r.out[i].add(lax::slice(r.cotangents[0], start, limit));
  }
}

void concatenate_batch(const BatchRule& r) {
  r.outs.push_back(lax::concatenate(batch_operands(r), static_cast<int>(axis_of(r.params)) + 1));
  r.out_axes.push_back(0);
}

bool concatenate_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                         std::span<ValueId> results, Loc loc) {
  if (operands.size() != 1) return move_parts(builder, concatenate_op, params, operands, results, loc);
  results[0] = operands[0];
  return true;
}

std::int64_t concatenate_operand_axis(const Params& params, std::span<const Aval> in, const Aval& out,
                                      std::size_t k, std::int64_t axis) {
  return params.as<ConcatenateParams>().axis == axis || !same_length(in[k], out, axis) ? -1 : axis;
}

}  // namespace

const Op concatenate_op = {
    .name = "concatenate",
    .kind = OpKind::Index,
    .shape = concatenate_shape,
    .evaluate = concatenate_evaluate,
    .jvp = concatenate_jvp,
    .transpose = concatenate_transpose,
    .batch = concatenate_batch,
    .emit_unrolled = concatenate_emit,
    .rewrite = concatenate_rewrite,
    .parse = parse_params<ConcatenateParams>,
    .spreads_nan = true,
    .moves = true,
    .joins = true,
    .cheap = true,
    .operand_axis = concatenate_operand_axis,
    .moves_cotangents = 255,
};

}  // namespace apsis::detail
