#include <algorithm>
#include <cstring>

#include "ops/complex.hpp"
#include "ops/dtype_set.hpp"
#include "ops/index_rules.hpp"
#include "ops/messages.hpp"
#include "ops/operand_axis.hpp"

namespace apsis::detail {

Value emit_combined(Emitter& e, ScatterKind kind, Value old, Value update) {
  Dtype dtype = old.dtype;
  if (kind == ScatterKind::Set) return update;
  if (dtype == Dtype::F16 || dtype == Dtype::BF16)
    return e.convert(emit_combined(e, kind, e.convert(old, Dtype::F32), e.convert(update, Dtype::F32)),
                     dtype);
  if (dtype == Dtype::Bool)
    return kind == ScatterKind::Add || kind == ScatterKind::Max ? e.bit_or(old, update)
                                                                : e.bit_and(old, update);
  if (kind == ScatterKind::Add) return e.add(old, update);
  if (kind == ScatterKind::Mul) return e.mul(old, update);
  Value keep = e.compare(kind == ScatterKind::Min ? Compare::Lt : Compare::Gt, old, update);
  if (is_floating(dtype)) keep = e.bit_or(keep, e.compare(Compare::Ne, old, old));
  return e.select(keep, old, update);
}

namespace {

void scatter_shape(const Params& params, std::span<const Aval> in, std::vector<Aval>& out) {
  APSIS_ASSERT(in.size() == 3);
  const auto& p = params.as<ScatterParams>().places;
  const Shape& indices = in[1].shape();
  APSIS_ASSERT(in[1].dtype() == Dtype::I64 && !indices.empty() && in[2].dtype() == in[0].dtype());
  APSIS_ASSERT(indices.back() == static_cast<std::int64_t>(p.start_index_map.size()));
  APSIS_ASSERT(p.slice_sizes.size() == in[0].shape().size());
  APSIS_ASSERT(p.offset_dims.size() + p.collapsed_slice_dims.size() + p.operand_batching_dims.size() ==
               p.slice_sizes.size());
  APSIS_ASSERT(params.as<ScatterParams>().kind <= ScatterKind::Max && p.mode <= OutOfBounds::Zero &&
               fits(p, in[0].shape(), indices));
  Placement place(p, in[0].shape(), indices);
  APSIS_ASSERT(place.result == in[2].shape());
  for (std::size_t i = 0; i < p.slice_sizes.size(); ++i)
    APSIS_ASSERT(p.slice_sizes[i] >= 0 && (p.slice_sizes[i] <= in[0].shape()[i] || place.rows == 0));
  out.push_back(Aval(in[0].dtype(), in[0].shape(), in[0].weak() && in[2].weak()));
}

// min and max keep a NaN from either side; of equal values (zeros of different sign) the update stays.
template <class T>
T combine(ScatterKind kind, T old, T update) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
    if (kind == ScatterKind::Set) return update;
    return T(combine(kind, static_cast<float>(old), static_cast<float>(update)));
  } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    auto first = [](T a, T b) { return a.real < b.real || (a.real == b.real && a.imag < b.imag); };
    switch (kind) {
      case ScatterKind::Add:
        return {old.real + update.real, old.imag + update.imag};
      case ScatterKind::Mul:
        return {old.real * update.real - old.imag * update.imag,
                old.real * update.imag + old.imag * update.real};
      case ScatterKind::Min:
        return first(old, update) || old.real != old.real || old.imag != old.imag ? old : update;
      case ScatterKind::Max:
        return first(update, old) || old.real != old.real || old.imag != old.imag ? old : update;
      default:
        return update;
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    switch (kind) {
      case ScatterKind::Add:
      case ScatterKind::Max:
        return old || update;
      case ScatterKind::Mul:
      case ScatterKind::Min:
        return old && update;
      default:
        return update;
    }
  } else {
    switch (kind) {
      case ScatterKind::Add:
        if constexpr (std::is_integral_v<T>)
          return static_cast<T>(static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(update));
        else
          return old + update;
      case ScatterKind::Mul:
        if constexpr (std::is_integral_v<T>)
          return static_cast<T>(static_cast<std::uint64_t>(old) * static_cast<std::uint64_t>(update));
        else
          return old * update;
      case ScatterKind::Min:
        return old < update || old != old ? old : update;
      case ScatterKind::Max:
        return old > update || old != old ? old : update;
      default:
        return update;
    }
  }
}

/// Elements side by side: so many at a time that the compiler makes vectors of them.
template <ScatterKind kind, class T>
void combine_piece(std::int64_t piece, const T* __restrict source, T* __restrict target) {
  constexpr std::int64_t block = 8;
  std::int64_t k = 0;
  for (; k + block <= piece; k += block)
    for (std::int64_t j = 0; j < block; ++j) target[k + j] = combine(kind, target[k + j], source[k + j]);
  for (; k < piece; ++k) target[k] = combine(kind, target[k], source[k]);
}

template <ScatterKind kind, class T>
void combine_rows(const Placement& place, bool clips, const std::int64_t* indices, const T* source,
                  T* target) {
  if (place.piece() == 1)
    return place.each_row(indices, [=](std::int64_t operand, std::int64_t update, bool inside) {
      if (inside || clips) target[operand] = combine(kind, target[operand], source[update]);
    });
  if (const std::int64_t piece = place.piece(); piece > 0)
    return place.each_row(indices, [=](std::int64_t operand, std::int64_t update, bool inside) {
      if (!inside && !clips) return;
      combine_piece<kind>(piece, source + update, target + operand);
    });
  const auto pairs = place.elements();
  place.each_row(indices, [&](std::int64_t operand, std::int64_t update, bool inside) {
    if (!inside && !clips) return;
    for (const Placement::Pair& pair : pairs) {
      T& old = target[operand + pair.operand];
      old = combine(kind, old, source[update + pair.result]);
    }
  });
}

template <class T>
void scatter_combine(const Placement& place, const ScatterParams& p, const std::int64_t* indices,
                     const void* updates, void* out) {
  auto* target = static_cast<T*>(out);
  auto* source = static_cast<const T*>(updates);
  const bool clips = p.places.mode == OutOfBounds::Clip;
  switch (p.kind) {
    case ScatterKind::Set:  // set_rows
      break;
    case ScatterKind::Add:
      return combine_rows<ScatterKind::Add>(place, clips, indices, source, target);
    case ScatterKind::Mul:
      return combine_rows<ScatterKind::Mul>(place, clips, indices, source, target);
    case ScatterKind::Min:
      return combine_rows<ScatterKind::Min>(place, clips, indices, source, target);
    case ScatterKind::Max:
      return combine_rows<ScatterKind::Max>(place, clips, indices, source, target);
  }
}

/// Sets slices, whatever their elements are.
void set_rows(const Placement& place, bool clips, const std::int64_t* indices, const char* updates,
              char* target, std::size_t item) {
  const std::int64_t piece = place.piece();
  const bool single = piece == 1 && as_words(item, [&](auto word) {
                        using Word = decltype(word);
                        const auto* source = reinterpret_cast<const Word*>(updates);
                        auto* elements = reinterpret_cast<Word*>(target);
                        place.each_row(indices, [=](std::int64_t operand, std::int64_t update, bool inside) {
                          if (inside || clips) elements[operand] = source[update];
                        });
                      });
  if (single) return;
  const StridedCopy slice(place.slice, place.slice_strides, place.operand_strides, item);
  const std::size_t piece_bytes = static_cast<std::size_t>(piece) * item;
  place.each_row(indices, [&](std::int64_t operand, std::int64_t update, bool inside) {
    if (!inside && !clips) return;
    if (piece > 0)
      std::memcpy(target + static_cast<std::size_t>(operand) * item,
                  updates + static_cast<std::size_t>(update) * item, piece_bytes);
    else
      slice.run(updates, update, target, operand);
  });
}

void scatter_evaluate(const Params& params, std::span<const Array> in, std::span<Array> out) {
  const auto& p = params.as<ScatterParams>();
  Dtype dtype = out[0].dtype();
  std::size_t item = item_size(dtype);
  auto* target = mutable_data<char>(out[0]);
  // Compiled code scatters in place where it can.
  if (data_of(in[0]) != target) copy_view(View::contiguous(in[0].shape()), data_of(in[0]), target, item);
  const Placement place(p.places, in[0].shape(), in[1].shape());
  auto* indices = static_cast<const std::int64_t*>(data_of(in[1]));
  const void* updates = data_of(in[2]);
  if (p.kind == ScatterKind::Set)
    return set_rows(place, p.places.mode == OutOfBounds::Clip, indices, static_cast<const char*>(updates),
                    target, item);
  visit_dtype<all_dtypes>(
      dtype, [&]<class T>(std::type_identity<T>) { scatter_combine<T>(place, p, indices, updates, target); });
}

void scatter_emit(Emitter& e, const Params& params, std::span<const Aval> in_avals, std::span<const Value> in,
                  std::span<const Aval>, std::span<Value> out) {
  const auto& p = params.as<ScatterParams>();
  Placement place(p.places, in_avals[0].shape(), in_avals[1].shape());
  std::ranges::copy(in.first(out.size()), out.begin());
  auto indices = in.subspan(out.size(), static_cast<std::size_t>(in_avals[1].size()));
  auto updates = in.subspan(out.size() + indices.size());
  auto pairs = place.elements();
  Shape grid;
  for (const Placement::Start& s : place.starts) grid.push_back(s.limit + 1);
  for (std::int64_t row = 0; row < place.rows; ++row) {
    std::vector<EmittedStart> starts;
    Condition inside;
    for (const Placement::Start& s : place.starts) {
      starts.emplace_back(e, indices[static_cast<std::size_t>(row * place.vector_length + s.entry)], s.limit,
                          s.stride);
      if (p.places.mode != OutOfBounds::Clip) inside = emit_both(e, inside, starts.back().inside(e));
    }
    Placement::Pair at = place.base(row);
    // Each start picks other elements for a given update, so the order of the places does not matter.
    for (std::int64_t g = 0, n = pairs.empty() ? 0 : grid.product(); g < n; ++g) {
      Condition here = inside;
      std::int64_t rest = g, offset = at.operand;
      for (std::size_t k = starts.size(); k-- > 0; rest /= grid[k]) {
        here = emit_both(e, starts[k].equals(e, rest % grid[k]), here);
        offset += rest % grid[k] * starts[k].stride();
      }
      for (const Placement::Pair& pair : pairs) {
        Value& old = out[static_cast<std::size_t>(offset + pair.operand)];
        Value fresh =
            emit_combined(e, p.kind, old, updates[static_cast<std::size_t>(at.result + pair.result)]);
        old = emit_choice(e, here, fresh, old);
      }
    }
  }
}

// The gather that reads what each update met; zero where it was dropped.
GatherParams reading(const ScatterParams& p) {
  GatherParams g = p.places;
  if (g.mode == OutOfBounds::Fill) g.mode = OutOfBounds::Zero;
  return g;
}

Array scatter_as(const ScatterParams& p, ScatterKind kind, const Array& a, const Array& indices,
                 const Array& updates) {
  return lax::scatter(a, indices, updates, {p.places, kind, p.unique});
}

// Ties share the tangent equally, as in JAX.
Array extremal_tangent(const ScatterParams& p, const JvpRule& r, const Array& result) {
  const Array &indices = r.primals[1], &updates = r.primals[2];
  Dtype dtype = result.dtype();
  Array kept = lax::convert(lax::eq(r.primals[0], result), dtype);
  Array met = lax::convert(lax::eq(updates, lax::gather(result, indices, reading(p))), dtype);
  Array winners = scatter_as(p, ScatterKind::Add, kept, indices, met);
  Array own =
      r.tangents[0].is_empty() ? lax::full_like(r.primals[0].aval(), 0) : lax::mul(kept, r.tangents[0]);
  Array sum = r.tangents[2].is_empty()
                  ? own
                  : scatter_as(p, ScatterKind::Add, own, indices, lax::mul(met, r.tangents[2]));
  return lax::div(sum, winners);
}

void scatter_jvp(const JvpRule& r) {
  const auto& p = r.params.as<ScatterParams>();
  bind(scatter_op, r.params, r.primals, r.outs);
  const Array &ta = r.tangents[0], &indices = r.primals[1], &tu = r.tangents[2];
  if (ta.is_empty() && tu.is_empty()) return;
  Array& out = r.out_tangents[0];
  switch (p.kind) {
    case ScatterKind::Add:
      out = tu.is_empty() ? ta : scatter_as(p, p.kind, or_zeros(ta, r.primals[0]), indices, tu);
      return;
    case ScatterKind::Set:
      out = scatter_as(p, p.kind, or_zeros(ta, r.primals[0]), indices, or_zeros(tu, r.primals[2]));
      return;
    case ScatterKind::Mul: {
      if (!tu.is_empty() && !p.unique) fail(messages::scatter_mul_repeated, {});
      if (!ta.is_empty()) out = scatter_as(p, p.kind, ta, indices, r.primals[2]);
      if (tu.is_empty()) return;
      Array factor = lax::gather(r.primals[0], indices, reading(p));
      out = scatter_as(p, ScatterKind::Add, or_zeros(out, r.primals[0]), indices, lax::mul(factor, tu));
      return;
    }
    default:
      out = extremal_tangent(p, r, r.outs[0]);
  }
}

void scatter_transpose(const TransposeRule& r) {
  const Array& cotangent = r.cotangents[0];
  if (cotangent.is_empty()) return;
  const auto& p = r.params.as<ScatterParams>();
  const Array& indices = r.operands[1];
  switch (p.kind) {
    case ScatterKind::Add:
      r.out[0].add(cotangent);
      if (r.out[2].is_linear()) r.out[2].add(lax::gather(cotangent, indices, reading(p)));
      return;
    case ScatterKind::Mul:  // linear in the array alone
      r.out[0].add(scatter_as(p, p.kind, cotangent, indices, r.operands[2]));
      return;
    default: {
      if (r.out[0].is_linear())
        r.out[0].add(scatter_as(p, p.kind, cotangent, indices, lax::full_like(r.out[2].aval(), 0)));
      if (!r.out[2].is_linear()) return;
      Array read = lax::gather(cotangent, indices, reading(p));
      if (!p.unique) {
        // Only the update that was set last has a cotangent: number the updates, and see whose number stayed.
        const Shape& shape = r.out[2].aval().shape();
        Array numbers = lax::reshape(lax::iota(Dtype::I64, {r.out[2].aval().size()}, 0), shape);
        Array stayed =
            scatter_as(p, p.kind, lax::full(r.out[0].aval().shape(), Dtype::I64, -1), indices, numbers);
        Array mine = lax::eq(lax::gather(stayed, indices, reading(p)), numbers);
        read = lax::select(mine, read, lax::full_like(read.aval(), 0));
      }
      r.out[2].add(read);
    }
  }
}

void scatter_batch(const BatchRule& r) {
  ScatterParams p = r.params.as<ScatterParams>();
  GatherParams& places = p.places;
  for (Dims* axes : {&places.offset_dims, &places.collapsed_slice_dims, &places.start_index_map,
                     &places.operand_batching_dims})
    for (std::int64_t& axis : *axes) ++axis;
  Array operand = batched_front(r.operands[0], r.axes[0], r.size);
  Array updates = batched_front(r.operands[2], r.axes[2], r.size), indices = r.operands[1];
  if (r.axes[1] >= 0) {
    indices = lax::move_axis(indices, r.axes[1], 0);
    for (std::int64_t& axis : places.start_indices_batching_dims) ++axis;
    places.slice_sizes.insert(0, 1);
    places.operand_batching_dims.insert(0, 0);
    places.start_indices_batching_dims.insert(0, 0);
  } else {
    places.slice_sizes.insert(0, r.size);
    places.offset_dims.insert(0, 0);
  }
  r.outs.push_back(lax::scatter(operand, indices, updates, p));
  r.out_axes.push_back(0);
}

const GatherParams& scatter_places(const Params& params) { return params.as<ScatterParams>().places; }

// Of the updates: an axis of the array that all slices have whole, or one of batching.
std::int64_t updates_axis(const GatherParams& p, const Shape& array, std::int64_t axis) {
  const auto is_dropped = [&](std::int64_t a) {
    return p.collapsed_slice_dims.contains(a) || p.operand_batching_dims.contains(a);
  };
  const std::int64_t batching = place_in(p.operand_batching_dims, axis);
  const auto at = static_cast<std::size_t>(axis);
  // Axes of the updates of the same kind, of slices or of the indices, that come before.
  std::int64_t left = 0;
  if (batching >= 0) {
    left = p.start_indices_batching_dims[static_cast<std::size_t>(batching)];
  } else {
    if (is_dropped(axis) || p.slice_sizes[at] != array[at]) return -1;
    for (std::int64_t a = 0; a < axis; ++a) left += !is_dropped(a);
  }
  for (std::int64_t of = 0;; ++of)
    if (p.offset_dims.contains(of) == (batching < 0) && left-- == 0) return of;
}

std::int64_t scatter_operand_axis(const Params& params, std::span<const Aval>, const Aval& out, std::size_t k,
                                  std::int64_t axis) {
  if (k == 0) return axis;
  return k == 2 ? updates_axis(params.as<ScatterParams>().places, out.shape(), axis) : -1;
}

// Sums of complex numbers are those of their parts.
bool scatter_rewrite(GraphBuilder& builder, const Params& params, std::span<const ValueId> operands,
                     std::span<ValueId> results, Loc loc) {
  const ScatterKind kind = params.as<ScatterParams>().kind;
  return (kind == ScatterKind::Set || kind == ScatterKind::Add) &&
         move_parts(builder, scatter_op, params, operands, results, loc);
}

}  // namespace

const Op scatter_op = {
    .name = "scatter",
    .kind = OpKind::Index,
    .shape = scatter_shape,
    .evaluate = scatter_evaluate,
    .jvp = scatter_jvp,
    .transpose = scatter_transpose,
    .batch = scatter_batch,
    .emit_unrolled = scatter_emit,
    .rewrite = scatter_rewrite,
    .parse = parse_params<ScatterParams>,
    .updates = 0,
    .written = 2,
    .places = scatter_places,
    .operand_axis = scatter_operand_axis,
};

}  // namespace apsis::detail
