// Gather and scatter with few index vectors, written out: a load or a store for each element, at a place that
// is known when the program runs.

#include <algorithm>

#include "codegen/emit/element_at.hpp"
#include "codegen/emit/equations.hpp"
#include "codegen/emit/fused_loop.hpp"
#include "ops/index_rules.hpp"

namespace apsis::detail {
namespace {

/// One by one; beyond, the loop of the kernel costs less than the code.
bool moves_few(const Aval& elements) { return elements.size() <= 32 && !is_complex(elements.dtype()); }

/// The slice of an array that an index vector names. Its elements are at known distances from `at`, or, where
/// lanes name different ones, from element `first` of each lane, counted from there.
struct IndexedSlice {
  Value bytes;   // from the array's base
  Value first;   // no handle: the same for all lanes
  Value inside;  // the index is in bounds; no handle: it is clamped
};

IndexedSlice indexed_slice(Region& region, const Place& array, Dtype dtype, const Placement& placement,
                           std::span<const Value> indices, std::int64_t row, OutOfBounds mode) {
  Builder& b = region.b();
  IndexedSlice slice;
  const auto of_row = indices.subspan(static_cast<std::size_t>(row * placement.vector_length));
  int lanes = 1;
  for (const Placement::Start& s : placement.starts)
    lanes = std::max(lanes, b.lanes_of(of_row[static_cast<std::size_t>(s.entry)]));
  b.set_lanes(lanes);
  ElementAt at(b, mode);
  for (const Placement::Start& s : placement.starts)
    at.add(of_row[static_cast<std::size_t>(s.entry)], std::max<std::int64_t>(s.limit, 0), s.stride);
  slice.inside = at.inside();
  const std::int64_t bytes = region.bytes_of(array, dtype),
                     known = array.view.offset + placement.base(row).operand;
  slice.bytes = b.index(known * bytes);
  if (lanes == 1)
    slice.bytes = b.add(slice.bytes, b.mul(at.element(), b.index(bytes)));
  else
    slice.first = at.element_of_lane(array.lanes);
  return slice;
}

/// An element of a slice, `distance` elements from its first.
Value load_indexed(Region& region, const IndexedSlice& slice, const Place& array, Dtype dtype,
                   std::int64_t distance) {
  Builder& b = region.b();
  b.set_lanes(1);
  const ConstPointer at =
      b.offset(b.offset(array.base, slice.bytes), distance * region.bytes_of(array, dtype));
  b.set_lanes(slice.first.handle ? b.lanes_of(slice.first) : array.lanes);
  if (slice.first.handle) return b.gather(at, slice.first, dtype);
  return array.lanes > 1 ? b.load(at, dtype) : b.load_element(at, dtype);
}

/// In place where nobody else needs the array; else in a copy of it, or what it is made of, at the place of
/// the result.
bool emit_scatter_kernel(Region& region, const Eqn& e) {
  const auto operands = region.operands(e);
  if (region.in_registers(region.aval(e.first_result))) return false;
  for (ValueId v : operands)
    if (region.lanes_of(v) > 1) return false;
  const Destination place = region.overwrite(updated(region, e, 1).place());
  std::vector<Place> in = {place.place()};
  for (ValueId v : operands.subspan(1)) in.push_back(region.contiguous(v));
  call_kernel(region, add_kernel(region, e), e, in, {&place, 1});
  region.define(e.first_result, place.place());
  return true;
}

}  // namespace

bool emit_gather(Region& region, const Eqn& e) {
  Builder& b = region.b();
  const auto operands = region.operands(e);
  const Aval &in = region.aval(operands[0]), &indices = region.aval(operands[1]),
             &out = region.aval(e.first_result);
  if (!region.in_registers(indices) || !moves_few(out) || in.size() == 0) return false;
  const Place array = region.in_memory(operands[0]);
  if (array.lanes > 1 && array.lanes != region.lanes()) return false;
  const auto& p = e.params.as<GatherParams>();
  const Values index = region.registers(operands[1]);
  const Placement placement(p, in.shape(), array.view.strides, indices.shape());
  const auto pairs = placement.elements();
  Place result;
  result.kind = Place::Kind::Registers;
  result.elements.resize(static_cast<std::size_t>(out.size()));
  for (std::int64_t row = 0; row < placement.rows; ++row) {
    const IndexedSlice slice = indexed_slice(region, array, in.dtype(), placement, index, row, p.mode);
    const std::int64_t first = placement.base(row).result;
    for (const Placement::Pair& pair : pairs) {
      Value v = load_indexed(region, slice, array, in.dtype(), pair.operand);
      if (slice.inside.handle) {
        b.set_lanes(1);
        Value choice[] = {slice.inside, v, b.constant(in.dtype(), missing_bits(in.dtype(), p.mode))};
        align(b, choice);
        v = b.select(choice[0], choice[1], choice[2]);
      }
      result.elements[static_cast<std::size_t>(first + pair.result)] = v;
    }
  }
  if (!region.in_registers(out)) {
    const Destination made = region.destination(e.first_result, region.lanes_of(result));
    region.copy(result, out, made);
    result = made.place();
  }
  region.define(e.first_result, std::move(result));
  return true;
}

bool emit_scatter(Region& region, const Eqn& e) {
  Builder& b = region.b();
  const auto operands = region.operands(e);
  const Aval &aval = region.aval(operands[0]), &indices = region.aval(operands[1]),
             &moved = region.aval(operands[2]);
  if (region.in_registers(aval)) return false;
  if (!region.in_registers(indices) || !moves_few(moved)) return emit_scatter_kernel(region, e);
  int lanes = 1;
  for (ValueId v : operands) lanes = std::max(lanes, region.lanes_of(v));
  if (lanes > 1 && lanes != region.lanes()) return false;
  const auto& p = e.params.as<ScatterParams>();
  const Values index = region.registers(operands[1]), updates = region.registers(operands[2]);
  const Target target = updated(region, e, lanes);
  const Place& place = target.place();
  const Placement placement(p.places, aval.shape(), place.view.strides, indices.shape());
  const auto pairs = placement.elements();
  for (std::int64_t row = 0; row < placement.rows; ++row) {
    const IndexedSlice slice =
        indexed_slice(region, place, aval.dtype(), placement, index, row, p.places.mode);
    const std::int64_t first = placement.base(row).result;
    for (const Placement::Pair& pair : pairs) {
      Value v = updates[static_cast<std::size_t>(first + pair.result)];
      Value kept = slice.inside;  // an update outside is dropped
      if (p.kind != ScatterKind::Set || (kept.handle && lanes == 1)) {
        Value pair_of[] = {load_indexed(region, slice, place, aval.dtype(), pair.operand), v};
        align(b, pair_of);
        v = emit_combined(b, p.kind, pair_of[0], pair_of[1]);
        if (kept.handle && lanes == 1) v = b.select(kept, v, pair_of[0]);
      }
      b.set_lanes(lanes);
      if (b.lanes_of(v) < lanes) v = b.splat(v);
      if (kept.handle && b.lanes_of(kept) < lanes) kept = b.splat(kept);
      if (lanes == 1) kept = {};
      b.set_lanes(1);
      const Target element = target.part(b, place.view, slice.bytes);
      b.set_lanes(lanes);
      const std::int64_t at = pair.operand * region.bytes_of(place, aval.dtype());
      if (slice.first.handle)
        element.scatter(b, at, slice.first, v, kept);
      else
        element.store(b, at, v, kept);
    }
  }
  region.define(e.first_result, place);
  return true;
}

}  // namespace apsis::detail
