#include <cstring>
#include <limits>

#include "ops/complex.hpp"
#include "ops/each_matrix.hpp"
#include "ops/index_rules.hpp"
#include "ops/operand_axis.hpp"

namespace apsis::detail {

std::uint64_t missing_bits(Dtype dtype, OutOfBounds mode) {
  if (mode != OutOfBounds::Fill) return 0;
  if (is_signed_integer(dtype)) return std::uint64_t{1} << (item_size(dtype) * 8 - 1);
  if (is_unsigned_integer(dtype)) return ~std::uint64_t{0} >> (64 - item_size(dtype) * 8);
  if (dtype == Dtype::Bool) return 1;
  return element_bits(dtype, std::numeric_limits<double>::quiet_NaN());
}

namespace {

void gather_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 2);
  const auto& p = params.as<GatherParams>();
  const Shape &operand = in[0].shape(), &indices = in[1].shape();
  APSIS_ASSERT(in[1].dtype() == Dtype::I64 && !indices.empty());
  APSIS_ASSERT(indices.back() == static_cast<std::int64_t>(p.start_index_map.size()));
  APSIS_ASSERT(p.slice_sizes.size() == operand.size());
  APSIS_ASSERT(p.offset_dims.size() + p.collapsed_slice_dims.size() + p.operand_batching_dims.size() ==
               operand.size());
  APSIS_ASSERT(p.operand_batching_dims.size() == p.start_indices_batching_dims.size());
  APSIS_ASSERT(p.mode <= OutOfBounds::Zero && fits(p, operand, indices));
  Placement place(p, operand, indices);
  for (std::size_t i = 0; i < operand.size(); ++i)
    APSIS_ASSERT(p.slice_sizes[i] >= 0 && (p.slice_sizes[i] <= operand[i] || place.rows == 0));
  out.push_back(Aval(in[0].dtype(), place.result, in[0].weak()));
}

void gather_rows(const GatherParams& p, const Placement& place, Dtype dtype, const char* from,
                 const std::int64_t* indices, char* to) {
  const std::size_t item = item_size(dtype);
  std::uint64_t missing[2] = {0, 0};
  if (p.mode == OutOfBounds::Fill) {
    // NaN + 0i for complex numbers.
    Dtype part = dtype == Dtype::C64 ? Dtype::F32 : dtype == Dtype::C128 ? Dtype::F64 : dtype;
    missing[0] = missing_bits(part, p.mode);
  }
  const bool clips = p.mode == OutOfBounds::Clip;
  const std::int64_t piece = place.piece();
  const bool single = piece == 1 && as_words(item, [&](auto word) {
                        using Word = decltype(word);
                        const auto* elements = reinterpret_cast<const Word*>(from);
                        auto* results = reinterpret_cast<Word*>(to);
                        const auto other = static_cast<Word>(missing[0]);
                        place.each_row(indices, [=](std::int64_t operand, std::int64_t result, bool inside) {
                          const Word element = elements[operand];
                          results[result] = inside || clips ? element : other;
                        });
                      });
  if (single) return;
  const StridedCopy slice(place.slice, place.operand_strides, place.slice_strides, item);
  const StridedCopy filling(place.slice, Dims::filled(place.slice.size(), 0), place.slice_strides, item);
  const std::size_t piece_bytes = static_cast<std::size_t>(piece) * item;
  place.each_row(indices, [&](std::int64_t operand, std::int64_t result, bool inside) {
    if (!inside && !clips)
      filling.run(missing, 0, to, result);
    else if (piece > 0)
      std::memcpy(to + static_cast<std::size_t>(result) * item,
                  from + static_cast<std::size_t>(operand) * item, piece_bytes);
    else
      slice.run(from, operand, to, result);
  });
}

void gather_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<GatherParams>();
  const Dtype dtype = out[0].dtype();
  const Placement all(p, in[0].shape(), in[1].shape());
  const auto* from = static_cast<const char*>(data_of(in[0]));
  const auto* indices = static_cast<const std::int64_t*>(data_of(in[1]));
  auto* to = mutable_data<char>(out[0]);
  const std::int64_t count = all.batch.empty() ? 1 : all.batch[0],
                     rows = all.rows / std::max<std::int64_t>(count, 1);
  const auto bytes = static_cast<std::int64_t>(item_size(dtype));
  // An index, and where it leads to in memory; and what is moved.
  const double operations =
      static_cast<double>(rows) * (50 + static_cast<double>(all.slice.product() * bytes));
  each_range(count, 1, operations, [&](std::int64_t first, std::int64_t end) {
    if (end - first == count) return gather_rows(p, all, dtype, from, indices, to);
    const Placement::Pair at = all.base(first * rows);
    gather_rows(p, all.some(first, end), dtype, from + at.operand * bytes,
                indices + first * rows * all.vector_length, to + at.result * bytes);
  });
}

void gather_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
                 std::span<const Aval> out_avals, std::span<Value> out) {
  const auto& p = params.as<GatherParams>();
  Placement place(p, in_avals[0].shape(), in_avals[1].shape());
  auto elements = in.first(static_cast<std::size_t>(in_avals[0].size()));
  auto indices = in.subspan(elements.size());
  auto pairs = place.elements();
  for (std::int64_t row = 0; row < place.rows; ++row) {
    std::vector<EmittedStart> starts;
    Condition inside;
    for (const Placement::Start& s : place.starts) {
      starts.emplace_back(e, indices[static_cast<std::size_t>(row * place.vector_length + s.entry)], s.limit,
                          s.stride);
      if (p.mode != OutOfBounds::Clip) inside = emit_both(e, inside, starts.back().inside(e));
    }
    Placement::Pair at = place.base(row);
    for (const Placement::Pair& pair : pairs) {
      Value picked = emit_pick(e, starts, elements, at.operand + pair.operand);
      if (inside)
        picked = e.select(*inside, picked,
                          e.constant(out_avals[0].dtype(), missing_bits(out_avals[0].dtype(), p.mode)));
      out[static_cast<std::size_t>(at.result + pair.result)] = picked;
    }
  }
}

// What is missing has a zero tangent.
void gather_jvp(const JvpRule& r) {
  bind(gather_op, r.params, r.primals, r.outs);
  if (r.tangents[0].is_empty()) return;
  GatherParams p = r.params.as<GatherParams>();
  if (p.mode == OutOfBounds::Fill) p.mode = OutOfBounds::Zero;
  r.out_tangents[0] = lax::gather(r.tangents[0], r.primals[1], p);
}

void gather_transpose(const TransposeRule& r) {
  if (r.cotangents[0].is_empty() || !r.out[0].is_linear()) return;
  r.out[0].add(lax::scatter(lax::full_like(r.out[0].aval(), 0), r.operands[1], r.cotangents[0],
                            {r.params.as<GatherParams>(), ScatterKind::Add}));
}

void gather_batch(const BatchRule& r) {
  GatherParams p = r.params.as<GatherParams>();
  auto shift = [](Dims& axes) {
    for (std::int64_t& axis : axes) ++axis;
  };
  bool operand_batched = r.axes[0] >= 0, indices_batched = r.axes[1] >= 0;
  Array operand = operand_batched ? lax::move_axis(r.operands[0], r.axes[0], 0) : r.operands[0];
  Array indices = indices_batched ? lax::move_axis(r.operands[1], r.axes[1], 0) : r.operands[1];
  shift(p.offset_dims);
  if (operand_batched) {
    shift(p.collapsed_slice_dims);
    shift(p.start_index_map);
    shift(p.operand_batching_dims);
    p.slice_sizes.insert(0, indices_batched ? 1 : r.size.size);
    // Not batched indices take the whole mapped axis as one more axis of each slice.
    if (!indices_batched) p.offset_dims.insert(0, 0);
  }
  if (indices_batched) shift(p.start_indices_batching_dims);
  if (operand_batched && indices_batched) {
    p.operand_batching_dims.insert(0, 0);
    p.start_indices_batching_dims.insert(0, 0);
  }
  r.outs.push_back(lax::gather(operand, indices, p));
  r.out_axes.push_back(0);
}

const GatherParams& gather_places(const Params& params) { return params.as<GatherParams>(); }

// An axis that all slices have whole, or one of batching.
std::int64_t gather_operand_axis(const Params& params, std::span<const Aval> in, const Aval&, std::size_t k,
                                 std::int64_t axis) {
  if (k > 0) return -1;
  const auto& p = params.as<GatherParams>();
  if (const std::int64_t offset = place_in(p.offset_dims, axis); offset >= 0) {
    std::int64_t kept = -1, of = -1;
    while (kept < offset) {
      ++of;
      kept += !p.collapsed_slice_dims.contains(of) && !p.operand_batching_dims.contains(of);
    }
    const auto at = static_cast<std::size_t>(of);
    return p.slice_sizes[at] == in[0].shape()[at] ? of : -1;
  }
  std::int64_t of_indices = axis;
  for (std::int64_t offset : p.offset_dims) of_indices -= offset < axis;
  const std::int64_t batching = place_in(p.start_indices_batching_dims, of_indices);
  return batching < 0 ? -1 : p.operand_batching_dims[static_cast<std::size_t>(batching)];
}

// What is missing has a NaN in its real part only.
bool gather_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                    std::span<ValueId> results, Loc loc) {
  return params.as<GatherParams>().mode != OutOfBounds::Fill &&
         move_parts(builder, gather_op, params, operands, results, loc);
}

}  // namespace

const Op gather_op = {
    .name = "gather",
    .kind = OpKind::Index,
    .shape = gather_shape,
    .evaluate = gather_evaluate,
    .jvp = gather_jvp,
    .transpose = gather_transpose,
    .batch = gather_batch,
    .emit_unrolled = gather_emit,
    .rewrite = gather_rewrite,
    .parse = parse_params<GatherParams>,
    .places = gather_places,
    .operand_axis = gather_operand_axis,
};

}  // namespace apsis::detail
