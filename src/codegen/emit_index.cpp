// Ops that move elements of arrays in memory: as views where they can be, else as copies.

#include <algorithm>

#include "codegen/region.hpp"
#include "ops/index_params.hpp"

namespace apsis::detail {

void Region::emit_iota(const Eqn& e) {
  const auto& p = e.params.as<IotaParams>();
  Place place;
  place.kind = Place::Kind::Iota;
  place.view = {p.shape, Dims::filled(p.shape.size(), 0), 0};
  place.view.strides[static_cast<std::size_t>(p.axis)] = 1;
  if (in_registers(graph_.aval(e.first_result))) return define_loaded(e.first_result, place);
  define(e.first_result, std::move(place));
}

/// Each part is copied to its own slice of the result.
bool Region::emit_concatenate(const Eqn& e) {
  const Aval& aval = graph_.aval(e.first_result);
  auto axis = static_cast<std::size_t>(e.params.as<ConcatenateParams>().axis);
  int lanes = 1;
  for (ValueId v : graph_.operands(e)) lanes = std::max(lanes, lanes_of(places_[v]));
  Place whole = in_registers(aval) ? allocate(aval, lanes) : destination(e.first_result, lanes);
  Place part = whole;
  for (ValueId v : graph_.operands(e)) {
    part.view.shape = graph_.aval(v).shape();
    copy(places_[v], graph_.aval(v), part);
    part.view.offset += part.view.shape[axis] * part.view.strides[axis];
  }
  if (in_registers(aval)) define_loaded(e.first_result, whole);
  else define(e.first_result, std::move(whole));
  return true;
}

Value Region::clamped_index(ValueId index, std::int64_t limit) {
  Value i = registers(places_[index], graph_.aval(index))[0];
  b_.set_lanes(b_.lanes_of(i));
  auto constant = [&](std::int64_t value) { return b_.constant(Dtype::I64, static_cast<std::uint64_t>(value)); };
  if (i.dtype != Dtype::I64) i = b_.convert(i, Dtype::I64);
  i = b_.select(b_.compare(Compare::Lt, i, constant(0)), constant(0), i);
  return b_.select(b_.compare(Compare::Gt, i, constant(limit)), constant(limit), i);
}

/// The byte offset, in the array's view, of the slice that begins at `starts`; no handle when lanes differ.
Value Region::dynamic_offset(const Place& array, const Aval& aval, std::span<const ValueId> starts, const Shape& sizes) {
  Value offset = {};
  for (ValueId s : starts)
    if (lanes_of(places_[s]) > 1) return offset;
  b_.set_lanes(1);
  offset = b_.index(0);
  for (std::size_t d = 0; d < starts.size(); ++d) {
    std::int64_t room = aval.shape()[d] - sizes[d];
    if (room == 0 || array.view.strides[d] == 0) continue;
    Value start = clamped_index(starts[d], room);
    offset = b_.add(offset, b_.mul(start, b_.index(array.view.strides[d] * bytes_of(array, aval.dtype()))));
  }
  return offset;
}

bool Region::emit_dynamic_slice(const Eqn& e) {
  auto operands = graph_.operands(e);
  const Aval &in = graph_.aval(operands[0]), &out = graph_.aval(e.first_result);
  for (ValueId s : operands.subspan(1))
    if (lanes_of(places_[s]) > 1) return false;
  Place place = in_memory(places_[operands[0]], in);
  Value offset = dynamic_offset(place, in, operands.subspan(1), out.shape());
  place.base = b_.offset(place.base, offset);
  place.view.shape = out.shape();
  if (in_registers(out)) define_loaded(e.first_result, place);
  else define(e.first_result, std::move(place));
  return true;
}

/// In place when nobody else needs the array: a buffer carried through a loop then costs the slice alone.
bool Region::emit_dynamic_update_slice(const Eqn& e) {
  auto operands = graph_.operands(e);
  const Aval &aval = graph_.aval(operands[0]), &update = graph_.aval(operands[1]);
  if (in_registers(aval)) return false;
  int lanes = std::max(lanes_of(places_[operands[0]]), lanes_of(places_[operands[1]]));
  for (ValueId s : operands.subspan(2))
    if (lanes_of(places_[s]) > 1) return false;
  const Place& old = places_[operands[0]];
  Place place = old;
  bool in_place = uses_[operands[0]] == 1 && old.exclusive() && old.view.is_contiguous() && old.lanes == lanes;
  if (!in_place) {
    place = destination(e.first_result, lanes);
    copy(old, aval, place);
  }
  Place slice = place;
  Value offset = dynamic_offset(place, aval, operands.subspan(2), update.shape());
  slice.base = b_.offset(place.base, offset);
  slice.view.shape = update.shape();
  copy(places_[operands[1]], update, slice, in_place);
  define(e.first_result, std::move(place));
  return true;
}

}  // namespace apsis::detail
