// Gather and scatter with few index vectors, written out: a load or a store for each element, at a place that
// is known when the program runs.

#include <algorithm>

#include "codegen/emit/element_at.hpp"
#include "codegen/emit/fused_loop.hpp"
#include "codegen/emit/region.hpp"
#include "ops/index_rules.hpp"

namespace apsis::detail {
namespace {

/// One by one; beyond, the loop of the kernel costs less than the code.
bool moves_few(const Aval& elements) { return elements.size() <= 32 && !is_complex(elements.dtype()); }

}  // namespace

/// The slice of an array that an index vector names. Its elements are at known distances from `at`, or, where
/// lanes name different ones, from element `first` of each lane, counted from there.
struct Region::IndexedSlice {
  Value bytes;   // from the array's base
  Value first;   // no handle: the same for all lanes
  Value inside;  // the index is in bounds; no handle: it is clamped
};

Region::IndexedSlice Region::indexed_slice(const Place& array, Dtype dtype, const Placement& placement,
                                           std::span<const Value> indices, std::int64_t row,
                                           OutOfBounds mode) {
  IndexedSlice slice;
  const auto of_row = indices.subspan(static_cast<std::size_t>(row * placement.vector_length));
  int lanes = 1;
  for (const Placement::Start& s : placement.starts)
    lanes = std::max(lanes, b_.lanes_of(of_row[static_cast<std::size_t>(s.entry)]));
  b_.set_lanes(lanes);
  ElementAt at(b_, mode);
  for (const Placement::Start& s : placement.starts)
    at.add(of_row[static_cast<std::size_t>(s.entry)], std::max<std::int64_t>(s.limit, 0), s.stride);
  slice.inside = at.inside();
  const std::int64_t bytes = bytes_of(array, dtype), known = array.view.offset + placement.base(row).operand;
  slice.bytes = b_.index(known * bytes);
  if (lanes == 1)
    slice.bytes = b_.add(slice.bytes, b_.mul(at.element(), b_.index(bytes)));
  else
    slice.first = at.element_of_lane(array.lanes);
  return slice;
}

/// An element of a slice, `distance` elements from its first.
Value Region::load_indexed(const IndexedSlice& slice, const Place& array, Dtype dtype,
                           std::int64_t distance) {
  b_.set_lanes(1);
  const ConstPointer at = b_.offset(b_.offset(array.base, slice.bytes), distance * bytes_of(array, dtype));
  b_.set_lanes(slice.first.handle ? b_.lanes_of(slice.first) : array.lanes);
  if (slice.first.handle) return b_.gather(at, slice.first, dtype);
  return array.lanes > 1 ? b_.load(at, dtype) : b_.load_element(at, dtype);
}

bool Region::emit_gather(const Eqn& e) {
  const auto operands = graph_.operands(e);
  const Aval &in = graph_.aval(operands[0]), &indices = graph_.aval(operands[1]),
             &out = graph_.aval(e.first_result);
  if (!in_registers(indices) || !moves_few(out) || in.size() == 0) return false;
  const Place array = in_memory(places_[operands[0]], in);
  if (array.lanes > 1 && array.lanes != lanes_) return false;
  const auto& p = e.params.as<GatherParams>();
  const Values index = registers(places_[operands[1]], indices);
  const Placement placement(p, in.shape(), array.view.strides, indices.shape());
  const auto pairs = placement.elements();
  Place result;
  result.kind = Place::Kind::Registers;
  result.elements.resize(static_cast<std::size_t>(out.size()));
  for (std::int64_t row = 0; row < placement.rows; ++row) {
    const IndexedSlice slice = indexed_slice(array, in.dtype(), placement, index, row, p.mode);
    const std::int64_t first = placement.base(row).result;
    for (const Placement::Pair& pair : pairs) {
      Value v = load_indexed(slice, array, in.dtype(), pair.operand);
      if (slice.inside.handle) {
        b_.set_lanes(1);
        Value choice[] = {slice.inside, v, b_.constant(in.dtype(), missing_bits(in.dtype(), p.mode))};
        align(b_, choice);
        v = b_.select(choice[0], choice[1], choice[2]);
      }
      result.elements[static_cast<std::size_t>(first + pair.result)] = v;
    }
  }
  if (!in_registers(out)) {
    const Destination made = destination(e.first_result, lanes_of(result));
    copy(result, out, made);
    result = made.place();
  }
  define(e.first_result, std::move(result));
  return true;
}

bool Region::emit_scatter(const Eqn& e) {
  const auto operands = graph_.operands(e);
  const Aval &aval = graph_.aval(operands[0]), &indices = graph_.aval(operands[1]),
             &moved = graph_.aval(operands[2]);
  if (in_registers(aval)) return false;
  if (!in_registers(indices) || !moves_few(moved)) return emit_scatter_kernel(e);
  int lanes = 1;
  for (ValueId v : operands) lanes = std::max(lanes, lanes_of(places_[v]));
  if (lanes > 1 && lanes != lanes_) return false;
  const auto& p = e.params.as<ScatterParams>();
  const Values index = registers(places_[operands[1]], indices),
               updates = registers(places_[operands[2]], moved);
  const Target target = updated(e, lanes);
  const Place& place = target.place();
  const Placement placement(p.places, aval.shape(), place.view.strides, indices.shape());
  const auto pairs = placement.elements();
  for (std::int64_t row = 0; row < placement.rows; ++row) {
    const IndexedSlice slice = indexed_slice(place, aval.dtype(), placement, index, row, p.places.mode);
    const std::int64_t first = placement.base(row).result;
    for (const Placement::Pair& pair : pairs) {
      Value v = updates[static_cast<std::size_t>(first + pair.result)];
      Value kept = slice.inside;  // an update outside is dropped
      if (p.kind != ScatterKind::Set || (kept.handle && lanes == 1)) {
        Value pair_of[] = {load_indexed(slice, place, aval.dtype(), pair.operand), v};
        align(b_, pair_of);
        v = emit_combined(b_, p.kind, pair_of[0], pair_of[1]);
        if (kept.handle && lanes == 1) v = b_.select(kept, v, pair_of[0]);
      }
      b_.set_lanes(lanes);
      if (b_.lanes_of(v) < lanes) v = b_.splat(v);
      if (kept.handle && b_.lanes_of(kept) < lanes) kept = b_.splat(kept);
      if (lanes == 1) kept = {};
      b_.set_lanes(1);
      const Target element = target.part(b_, place.view, slice.bytes);
      b_.set_lanes(lanes);
      const std::int64_t at = pair.operand * bytes_of(place, aval.dtype());
      if (slice.first.handle)
        element.scatter(b_, at, slice.first, v, kept);
      else
        element.store(b_, at, v, kept);
    }
  }
  define(e.first_result, place);
  return true;
}

/// In place where nobody else needs the array.
bool Region::emit_scatter_kernel(const Eqn& e) {
  auto operands = graph_.operands(e);
  if (in_registers(graph_.aval(e.first_result))) return false;
  for (ValueId v : operands)
    if (lanes_of(places_[v]) > 1) return false;
  if (uses_[operands[0]] > 1 || !may_update(places_[operands[0]])) return false;
  const Destination place = overwrite(places_[operands[0]]);
  std::vector<Place> in = {place.place()};
  for (ValueId v : operands.subspan(1)) in.push_back(contiguous(places_[v], graph_.aval(v)));
  call_kernel(add_kernel(e), e, in, {&place, 1});
  define(e.first_result, place.place());
  return true;
}

}  // namespace apsis::detail
