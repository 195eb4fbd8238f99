#include <algorithm>

#include "ir/graph.hpp"
#include "ops/complex.hpp"
#include "ops/index_rules.hpp"
#include "ops/operand_axis.hpp"
#include "ops/view_params.hpp"

namespace apsis::detail {
namespace {

void check_starts(std::span<const Aval> starts, const Shape& shape, const Shape& sizes) {
  APSIS_ASSERT(starts.size() == shape.size() && sizes.size() == shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    APSIS_ASSERT(starts[i].dtype() == Dtype::I64 && starts[i].rank() == 0);
    APSIS_ASSERT(sizes[i] >= 0 && sizes[i] <= shape[i]);
  }
}

std::int64_t start_offset(std::span<const Array> starts, const Shape& shape, const Shape& sizes) {
  Dims strides = View::contiguous(shape).strides;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shape.size(); ++i)
    offset += std::clamp<std::int64_t>(*static_cast<const std::int64_t*>(data_of(starts[i])), 0,
                                       shape[i] - sizes[i]) *
              strides[i];
  return offset;
}

// Index vectors [lanes, axes] of the starts along the axes where the slice can move, and those axes.
Array start_vectors(const BatchRule& r, std::size_t first, const Shape& shape, const Shape& sizes,
                    Dims& axes) {
  std::vector<Array> columns;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (sizes[i] == shape[i]) continue;
    axes.push_back(static_cast<std::int64_t>(i));
    columns.push_back(lax::expand_axis(batched_front(r.operands[first + i], r.axes[first + i], r.size), 1));
  }
  if (columns.empty()) return lax::full({r.size, 0}, Dtype::I64, 0);
  return lax::concatenate(columns, 1);
}

bool any_batched(std::span<const int> axes) {
  return std::ranges::any_of(axes, [](int axis) { return axis >= 0; });
}

// One slice a lane, the lanes along axis 0 of the indices, and of the operand if it is batched.
GatherParams slice_of_lane(const Shape& sizes, const Dims& axes, bool batched) {
  GatherParams p;
  p.slice_sizes = sizes;
  p.start_index_map = axes;
  for (std::size_t i = 1; i <= sizes.size(); ++i) p.offset_dims.push_back(static_cast<std::int64_t>(i));
  if (batched) {
    p.slice_sizes.insert(0, 1);
    for (std::int64_t& axis : p.start_index_map) ++axis;
    p.operand_batching_dims = p.start_indices_batching_dims = {0};
  }
  return p;
}

Shape lane_shape(const Array& operand, int axis) {
  Shape shape = operand.shape();
  if (axis >= 0) shape.erase(static_cast<std::size_t>(axis));
  return shape;
}

std::vector<EmittedStart> emitted_starts(Emitter& e, std::span<const Value> starts, const Shape& shape,
                                         const Shape& sizes) {
  std::vector<EmittedStart> out;
  Dims strides = View::contiguous(shape).strides;
  for (std::size_t i = 0; i < shape.size(); ++i)
    out.emplace_back(e, starts[i], shape[i] - sizes[i], strides[i]);
  return out;
}

// dynamic_slice

void dynamic_slice_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(!in.empty());
  const auto& p = params.as<DynamicSliceParams>();
  check_starts(in.subspan(1), in[0].shape(), p.sizes);
  out.push_back(Aval(in[0].dtype(), p.sizes, in[0].weak()));
}

void dynamic_slice_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  const Shape& sizes = out[0].shape();
  View from{sizes, View::contiguous(in[0].shape()).strides,
            start_offset(in.subspan(1), in[0].shape(), sizes)};
  copy_view(from, data_of(in[0]), mutable_data<char>(out[0]), item_size(out[0].dtype()));
}

void dynamic_slice_emit(Emitter& e, const Params&, std::span<const Aval> in_avals, std::span<const Value> in,
                        std::span<const Aval> out_avals, std::span<Value> out) {
  const Shape &shape = in_avals[0].shape(), &sizes = out_avals[0].shape();
  auto elements = in.first(static_cast<std::size_t>(in_avals[0].size()));
  auto starts = emitted_starts(e, in.subspan(elements.size()), shape, sizes);
  View from{sizes, View::contiguous(shape).strides, 0};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = emit_pick(e, starts, elements, from.at(static_cast<std::int64_t>(i)));
}

void dynamic_slice_jvp(const JvpRule& r) {
  bind(dynamic_slice_op, r.params, r.primals, r.outs);
  if (r.tangents[0].is_empty()) return;
  r.out_tangents[0] =
      lax::dynamic_slice(r.tangents[0], r.primals.subspan(1), r.params.as<DynamicSliceParams>().sizes);
}

void dynamic_slice_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty() || !r.out[0].is_linear()) return;
  r.out[0].add(
      lax::dynamic_update_slice(lax::full_like(r.out[0].aval(), 0), r.cotangents[0], r.operands.subspan(1)));
}

void dynamic_slice_batch(const BatchRule& r) {
  Shape sizes = r.params.as<DynamicSliceParams>().sizes;
  if (!any_batched(r.axes.subspan(1))) {
    auto axis = static_cast<std::size_t>(r.axes[0]);
    std::vector<Array> starts(r.operands.begin() + 1, r.operands.end());
    starts.insert(starts.begin() + r.axes[0], literal(Dtype::I64, 0));
    sizes.insert(axis, r.size);
    r.outs.push_back(lax::dynamic_slice(r.operands[0], starts, sizes));
    r.out_axes.push_back(r.axes[0]);
    return;
  }
  Dims axes;
  Array indices = start_vectors(r, 1, lane_shape(r.operands[0], r.axes[0]), sizes, axes);
  bool batched = r.axes[0] >= 0;
  Array operand = batched ? lax::move_axis(r.operands[0], r.axes[0], 0) : r.operands[0];
  r.outs.push_back(lax::gather(operand, indices, slice_of_lane(sizes, axes, batched)));
  r.out_axes.push_back(0);
}

// Starts known while staging make it a slice.
bool dynamic_slice_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                           std::span<ValueId> results, Loc loc) {
  if (move_parts(builder, dynamic_slice_op, params, operands, results, loc)) return true;
  const auto& p = params.as<DynamicSliceParams>();
  const Shape shape = builder.aval(operands[0]).shape();
  SliceParams fixed;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Eqn* start = builder.definition(operands[i + 1]);
    if (!start || start->op->kind != OpKind::Constant) return false;
    std::int64_t at = constant_value(start->params).item<std::int64_t>();
    fixed.start.push_back(std::clamp<std::int64_t>(at, 0, shape[i] - p.sizes[i]));
    fixed.limit.push_back(fixed.start[i] + p.sizes[i]);
    fixed.stride.push_back(1);
  }
  builder.add(slice_op, make_params(fixed), operands.first(1), results, loc);
  return true;
}

// dynamic_update_slice

void dynamic_update_shape(const Params&, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() >= 2);
  APSIS_ASSERT(in[0].dtype() == in[1].dtype());
  check_starts(in.subspan(2), in[0].shape(), in[1].shape());
  out.push_back(Aval(in[0].dtype(), in[0].shape(), in[0].weak() && in[1].weak()));
}

void dynamic_update_evaluate(const Params&, std::span<const Array> in, std::span<Array> out) {
  std::size_t item = item_size(out[0].dtype());
  const Shape &shape = in[0].shape(), &sizes = in[1].shape();
  copy_view(View::contiguous(shape), data_of(in[0]), mutable_data<char>(out[0]), item);
  StridedCopy(sizes, View::contiguous(sizes).strides, View::contiguous(shape).strides, item)
      .run(data_of(in[1]), 0, mutable_data<char>(out[0]), start_offset(in.subspan(2), shape, sizes));
}

// Every element of the update can meet as many elements as there are starts.
void dynamic_update_emit(Emitter& e, const Params&, std::span<const Aval> in_avals, std::span<const Value> in,
                         std::span<const Aval> out_avals, std::span<Value> out) {
  const Shape &shape = out_avals[0].shape(), &sizes = in_avals[1].shape();
  std::ranges::copy(in.first(out.size()), out.begin());
  auto update = in.subspan(out.size(), static_cast<std::size_t>(in_avals[1].size()));
  auto starts = emitted_starts(e, in.subspan(out.size() + update.size()), shape, sizes);
  View box{sizes, View::contiguous(shape).strides, 0}, places{shape, box.strides, 0};
  for (std::size_t i = 0; i < shape.size(); ++i) places.shape[i] = starts[i].limit() + 1;
  for (std::int64_t s = 0, n = update.empty() ? 0 : places.shape.product(); s < n; ++s) {
    Condition here;
    std::int64_t rest = s;
    for (std::size_t i = shape.size(); i-- > 0; rest /= places.shape[i])
      here = emit_both(e, starts[i].equals(e, rest % places.shape[i]), here);
    for (std::size_t u = 0; u < update.size(); ++u) {
      Value& target = out[static_cast<std::size_t>(places.at(s) + box.at(static_cast<std::int64_t>(u)))];
      target = emit_choice(e, here, update[u], target);
    }
  }
}

void dynamic_update_jvp(const JvpRule& r) {
  bind(dynamic_update_slice_op, r.params, r.primals, r.outs);
  if (r.tangents[0].is_empty() && r.tangents[1].is_empty()) return;
  r.out_tangents[0] = lax::dynamic_update_slice(or_zeros(r.tangents[0], r.primals[0]),
                                                or_zeros(r.tangents[1], r.primals[1]), r.primals.subspan(2));
}

void dynamic_update_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty()) return;
  auto starts = r.operands.subspan(2);
  if (r.out[0].is_linear())
    r.out[0].add(lax::dynamic_update_slice(r.cotangents[0], lax::full_like(r.out[1].aval(), 0), starts));
  if (r.out[1].is_linear())
    r.out[1].add(lax::dynamic_slice(r.cotangents[0], starts, r.out[1].aval().shape()));
}

void dynamic_update_batch(const BatchRule& r) {
  Array operand = batched_front(r.operands[0], r.axes[0], r.size);
  Array update = batched_front(r.operands[1], r.axes[1], r.size);
  if (!any_batched(r.axes.subspan(2))) {
    std::vector<Array> starts(r.operands.begin() + 1, r.operands.end());
    starts[0] = literal(Dtype::I64, 0);
    r.outs.push_back(lax::dynamic_update_slice(operand, update, starts));
  } else {
    Shape sizes = lane_shape(r.operands[1], r.axes[1]);
    Dims axes;
    Array indices = start_vectors(r, 2, lane_shape(r.operands[0], r.axes[0]), sizes, axes);
    r.outs.push_back(
        lax::scatter(operand, indices, update, {slice_of_lane(sizes, axes, true), ScatterKind::Set, true}));
  }
  r.out_axes.push_back(0);
}

std::int64_t dynamic_slice_operand_axis(const Params&, std::span<const Aval> in, const Aval& out,
                                        std::size_t k, std::int64_t axis) {
  return k == 0 && same_length(in[0], out, axis) ? axis : -1;
}

std::int64_t dynamic_update_operand_axis(const Params&, std::span<const Aval> in, const Aval& out,
                                         std::size_t k, std::int64_t axis) {
  return k < 2 && same_length(in[1], out, axis) ? axis : -1;
}

bool dynamic_update_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                            std::span<ValueId> results, Loc loc) {
  return move_parts(builder, dynamic_update_slice_op, params, operands, results, loc);
}

}  // namespace

const Op dynamic_slice_op = {
    .name = "dynamic_slice",
    .kind = OpKind::Index,
    .shape = dynamic_slice_shape,
    .evaluate = dynamic_slice_evaluate,
    .jvp = dynamic_slice_jvp,
    .transpose = dynamic_slice_transpose,
    .batch = dynamic_slice_batch,
    .emit_unrolled = dynamic_slice_emit,
    .rewrite = dynamic_slice_rewrite,
    .parse = parse_params<DynamicSliceParams>,
    .moves = true,
    .starts = 1,
    .operand_axis = dynamic_slice_operand_axis,
};

const Op dynamic_update_slice_op = {
    .name = "dynamic_update_slice",
    .kind = OpKind::Index,
    .shape = dynamic_update_shape,
    .evaluate = dynamic_update_evaluate,
    .jvp = dynamic_update_jvp,
    .transpose = dynamic_update_transpose,
    .batch = dynamic_update_batch,
    .emit_unrolled = dynamic_update_emit,
    .rewrite = dynamic_update_rewrite,
    .moves = true,
    .updates = 0,
    .written = 1,
    .starts = 2,
    .operand_axis = dynamic_update_operand_axis,
};

}  // namespace apsis::detail
