// Equations that are values or views of values: constants, views, elementwise ops on few elements.

#include "codegen/emit/equations.hpp"
#include "codegen/emit/fused_loop.hpp"

namespace apsis::detail {

/// Results without elements need no code, however long their other axes and those of the operands are.
bool emit_nothing(Region& region, const Eqn& e) {
  if (e.op->kind == OpKind::Effect || e.result_count == 0) return false;
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const Aval& aval = region.aval(e.first_result + r);
    if (aval.is_list() || aval.size() != 0) return false;
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    Place none;
    none.kind = Place::Kind::Registers;
    region.define(e.first_result + r, std::move(none));
  }
  return true;
}

void emit_constant(Region& region, const Eqn& e) {
  Builder& b = region.b();
  const auto& p = e.params.as<ConstantParams>();
  Place place;
  if (is_complex(p.dtype)) {
    const std::uint64_t bits[2] = {p.bits, p.high_bits};
    place.kind = Place::Kind::Memory;
    place.view = View::contiguous({});
    place.base = b.constant_data(std::as_bytes(std::span(bits)).first(item_size(p.dtype)));
  } else {
    b.set_lanes(1);
    place.kind = Place::Kind::Registers;
    place.elements = {b.constant(p.dtype, p.bits)};
  }
  region.define(e.first_result, std::move(place));
}

void emit_view(Region& region, const Eqn& e) {
  ValueId source = region.operands(e)[0];
  const Aval &in = region.aval(source), &out = region.aval(e.first_result);
  const Place& from = region.place(source);
  View view;
  if (from.kind == Place::Kind::Registers && (region.in_registers(out) || from.elements.size() == 1)) {
    Place place;
    place.kind = Place::Kind::Registers;
    if (from.elements.size() == 1) {
      if (out.size() != 0)
        place.elements.assign(region.in_registers(out) ? static_cast<std::size_t>(out.size()) : 1,
                              from.elements[0]);
    } else {
      APSIS_ASSERT(e.op->view(e.params, out, View::contiguous(in.shape()), view));
      for (std::int64_t k = 0; k < out.size(); ++k)
        place.elements.push_back(from.elements[static_cast<std::size_t>(view.at(k))]);
    }
    return region.define(e.first_result, std::move(place));
  }
  Place place = from.kind == Place::Kind::Registers ? region.in_memory(from, in) : from;
  if (!e.op->view(e.params, out, place.view, view)) {
    const Destination made = region.destination(source, place.lanes);
    region.copy(place, in, made);
    place = made.place();
    APSIS_ASSERT(e.op->view(e.params, out, place.view, view));
  }
  place.view = view;
  if (!region.in_registers(out) && region.is_copied(e) && place.kind == Place::Kind::Memory) {
    const Destination made = region.destination(e.first_result, place.lanes);
    region.copy(place, out, made);
    place = made.place();
  }
  region.define(e.first_result, std::move(place));
}

void emit_elementwise(Region& region, const Eqn& e) {
  Builder& b = region.b();
  auto operands = region.operands(e);
  std::int64_t size = region.aval(e.first_result).size();
  std::vector<Values> in;
  for (ValueId v : operands) in.push_back(region.registers(v));
  std::vector<Place> results(e.result_count);
  for (Place& p : results) p.kind = Place::Kind::Registers;
  Values arguments(operands.size()), out(e.result_count);
  for (std::size_t k = 0; k < static_cast<std::size_t>(size); ++k) {
    for (std::size_t i = 0; i < operands.size(); ++i) arguments[i] = in[i][k];
    align(b, arguments);
    e.op->emit(b, e.params, arguments, out);
    for (std::uint32_t r = 0; r < e.result_count; ++r) results[r].elements.push_back(out[r]);
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) region.define(e.first_result + r, std::move(results[r]));
}

bool emit_unrolled(Region& region, const Eqn& e) {
  if (!e.op->emit_unrolled) return false;
  for (ValueId v : region.operands(e))
    if (!region.in_registers(region.aval(v))) return false;
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (!region.in_registers(region.aval(e.first_result + r))) return false;
  write_out(region, e);
  return true;
}

void write_out(Region& region, const Eqn& e) {
  Builder& b = region.b();
  std::vector<Aval> in_avals, out_avals;
  Values in, out;
  std::size_t size = 0;
  for (ValueId v : region.operands(e)) in_avals.push_back(region.aval(v));
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    out_avals.push_back(region.aval(e.first_result + r));
    size += static_cast<std::size_t>(out_avals.back().size());
  }
  for (ValueId v : region.operands(e)) {
    Values elements = region.registers(v);
    in.insert(in.end(), elements.begin(), elements.end());
  }
  out.resize(size);
  align(b, in);
  e.op->emit_unrolled(b, e.params, in_avals, in, out_avals, out);
  auto next = out.begin();
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const ValueId v = e.first_result + r;
    Place place;
    place.kind = Place::Kind::Registers;
    auto end = next + out_avals[r].size();
    place.elements.assign(next, end);
    next = end;
    if (!region.in_registers(out_avals[r])) {
      const Destination made = region.destination(v, region.lanes_of(place));
      region.copy(place, out_avals[r], made);
      place = made.place();
    }
    region.define(v, std::move(place));
  }
}

}  // namespace apsis::detail
