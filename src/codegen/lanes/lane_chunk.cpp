#include "codegen/lanes/lane_chunk.hpp"

#include <algorithm>

#include "codegen/lanes/lane_transpose.hpp"
#include "core/list.hpp"
#include "passes/analysis/updates.hpp"

namespace apsis::detail {
namespace {

std::int64_t bytes_of(const Aval& aval) { return static_cast<std::int64_t>(item_size(aval.dtype())); }

}  // namespace

LaneChunk::LaneChunk(Lowering& writer, const MapLanesParams& params, LaneSplit parts, int lanes)
    : lowering(writer), b(writer.b), split(std::move(parts)), width(lanes), params_(params) {
  known.resize(split.region->value_count());
  if (!split.loop || split.loop->op->kind != OpKind::Scan || width == 1) return;
  const Loop loop(*split.loop);
  if (loop.body->outputs().size() == loop.carries)
    outer = split_outer_sums(*loop.body, loop.consts, loop.carries, lowering.options().register_limit);
}

Loop LaneChunk::loop_parts() const {
  Loop loop(*split.loop);
  if (outer.body) loop.body = outer.body.get();
  return loop;
}

/// Whether each lane has its array in one piece: one of which an iteration reads and writes slices. Lanes are
/// at different ones, so that neighbours would share no access, and all of a lane's elements come and go with
/// it.
bool LaneChunk::lies_apart(std::size_t operand) const {
  const Loop loop = loop_parts();
  const Aval& aval = split.region->aval(split.region->operands(*split.loop)[operand]);
  const std::int64_t limit = lowering.options().register_limit;
  if (width == 1 || in_registers(aval) || operand >= loop.first_x()) return false;
  const std::size_t carry = operand - loop.first_carry();
  if (operand >= loop.first_carry() &&
      std::ranges::find(outer.sums, carry, &OuterSum::carry) != outer.sums.end())
    return false;
  return loop_only_slices(loop, operand, limit);
}

void LaneChunk::enter() {
  lowering.begin_function(b.pointer_parameter(0));
  first = b.parameter(2);
  last = b.parameter(3);
  const std::size_t inputs = split.region->input_count(), outputs = split.region->outputs().size();
  for (std::size_t i = 0; i < inputs + outputs; ++i) {
    const Pointer p =
        b.load_pointer(b.offset(b.pointer_parameter(1), static_cast<std::int64_t>(i * sizeof(void*))));
    (i < inputs ? in_ : out_).push_back(p);
  }
  if (split.region->has_effect()) {
    lanes_ = b.stack(static_cast<std::size_t>(width) * sizeof(std::int64_t));
    b.store_pointer(b.offset(lowering.context(), offsetof(CallContext, lanes)), lanes_);
    note_nest();
  }
  load_shared();
}

void LaneChunk::note_lanes(Value ids) {
  if (lanes_.handle) b.store(lanes_, ids);
}

/// For errors, which name the lane by an index for each vmap.
void LaneChunk::note_nest() {
  const Dims& nest = params_.nest;
  if (nest.empty()) return;
  const Pointer table = b.stack((nest.size() + 1) * sizeof(std::int64_t));
  std::int64_t at = 0;
  const auto put = [&](std::int64_t value) {
    b.store(b.offset(table, static_cast<std::int64_t>(sizeof(std::int64_t)) * at++), b.index(value));
  };
  put(static_cast<std::int64_t>(nest.size()));
  for (std::int64_t length : nest) put(length);
  b.store_pointer(b.offset(lowering.context(), offsetof(CallContext, nest)), table);
}

/// What lanes have in common is computed once a chunk.
void LaneChunk::load_shared() {
  const Graph& region = *split.region;
  Region shared(lowering, *split.shared.graph);
  for (ValueId v = 0; v < region.input_count(); ++v) {
    if (is_mapped(v)) continue;
    Place& place = known[v];
    const Aval& aval = region.aval(v);
    if (aval.is_list()) {
      place = list_place(v, lists_of_operand(v));
      continue;
    }
    place.base = in_[v];
    place.kind = Place::Kind::Memory;
    place.view = View::contiguous(aval.shape());
    if (in_registers(aval)) {
      place.elements = shared.registers(place, aval);
      place.kind = Place::Kind::Registers;
    }
  }
  bind(shared, split.shared, {});
  shared.run();
  for (std::size_t i = 0; i < split.shared_values.size(); ++i)
    known[split.shared_values[i]] = shared.output(i);
}

void LaneChunk::bind(Region& region, const GraphPart& part, Value ids, Value mask,
                     std::span<const char> passed_on, Value first) {
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    const ValueId v = part.inputs[i];
    const bool of_lane =
        v < split.region->input_count() && is_mapped(v) && !(width > 1 && split.region->aval(v).is_list());
    const auto place = [&] {
      if (!of_lane) return known[v];
      return !passed_on.empty() && passed_on[i] ? passed_on_input(v, ids) : input(v, ids, mask, first);
    };
    region.bind_input(static_cast<ValueId>(i), place());
  }
}

Place LaneChunk::passed_on_input(ValueId v, Value ids) {
  const Aval& aval = split.region->aval(v);
  Place place;
  b.set_lanes(width);
  place.kind = Place::Kind::Memory;
  place.base = in_[v];
  place.view = View::contiguous(aval.shape());
  place.lanes = width;
  place.apart = b.mul(ids, b.splat(b.index(aval.size())));
  return place;
}

Place LaneChunk::list_place(ValueId v, ConstPointer list) {
  Place place;
  b.set_lanes(1);
  place.kind = Place::Kind::List;
  place.base = list;
  place.offset = b.load_element(b.offset(in_[v], offsetof(ListValue, offset)), Dtype::I64);
  return place;
}

Pointer LaneChunk::entry_of_chunk(Pointer table) {
  b.set_lanes(1);
  return element_address(table, b.integer_div(first, b.index(width)), sizeof(void*));
}

Value LaneChunk::safe_ids(Value ids) {
  b.set_lanes(width);
  const Value end = b.splat(last);
  return b.select(b.compare(Compare::Lt, ids, end), ids, b.sub(end, b.constant(Dtype::I64, 1)));
}

Value LaneChunk::splat_to_width(Value v) {
  b.set_lanes(width);
  return b.lanes_of(v) < width ? b.splat(v) : v;
}

/// Input v of the lanes `ids`: one lane's elements where they are, or those of a packet side by side.
Place LaneChunk::input(ValueId v, Value ids, Value mask, Value first) {
  const Aval& aval = split.region->aval(v);
  Place place;
  if (width == 1) {
    b.set_lanes(1);
    if (aval.is_list())
      return list_place(v, b.load_pointer(element_address(lists_of_operand(v), ids, sizeof(void*))));
    place.kind = Place::Kind::Memory;
    place.base = element_address(in_[v], ids, static_cast<std::int64_t>(aval.bytes()));
    place.view = View::contiguous(aval.shape());
    if (in_registers(aval)) {
      Region reader(lowering, *split.shared.graph);
      place.elements = reader.registers(place, aval);
      place.kind = Place::Kind::Registers;
    }
    return place;
  }
  if (first.handle && in_registers(aval) && aval.size() == 1 && b.vector_bytes() == 64 &&
      item_size(aval.dtype()) >= 4) {
    place.kind = Place::Kind::Registers;
    b.set_lanes(1);
    const ConstPointer entering = element_address(in_[v], first, bytes_of(aval));
    b.set_lanes(width);
    place.elements = {b.expand_load(entering, aval.dtype(), mask)};
    return place;
  }
  b.set_lanes(width);
  const Value start = b.mul(ids, b.splat(b.index(aval.size())));
  if (in_registers(aval)) {
    place.kind = Place::Kind::Registers;
    for (std::int64_t k = 0; k < aval.size(); ++k)
      place.elements.push_back(b.gather(b.offset(in_[v], k * bytes_of(aval)), start, aval.dtype()));
    return place;
  }
  Region maker(lowering, *split.shared.graph, width, mask);
  const Destination made = maker.allocate(aval, width);
  place = made.place();
  if (aval.size() == 0) return place;
  if (transposes_lanes(b, aval.dtype(), aval.size(), width)) {
    put_side_by_side(lowering, {ids, aval.size(), aval.dtype()}, in_[v], made.base(), mask);
    return place;
  }
  b.set_lanes(1);
  CountedLoop loop(b, b.index(aval.size()));
  b.set_lanes(width);
  const Value elements = b.gather(element_address(in_[v], loop.index(), bytes_of(aval)), start, aval.dtype());
  b.store(element_address(made.base(), loop.index(), bytes_of(aval) * width), elements);
  loop.close();
  return place;
}

Place LaneChunk::target(std::size_t output, Value id) {
  const Aval& aval = split.region->aval(split.region->outputs()[output]);
  Place place;
  b.set_lanes(1);
  place.kind = Place::Kind::Memory;
  place.view = View::contiguous(aval.shape());
  place.base = element_address(out_[output], id, static_cast<std::int64_t>(aval.bytes()));
  return place;
}

void LaneChunk::store_outputs(Region& region, Value ids, Value mask) {
  const Graph& graph = *split.region;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Aval& aval = graph.aval(graph.outputs()[i]);
    if (aval.is_list()) continue;  // on the packet's tape
    b.set_lanes(width);
    const Value start = b.mul(ids, b.splat(b.index(aval.size())));
    if (in_registers(aval)) {
      const std::vector<Value> elements = region.registers(region.output(i), aval);
      for (std::size_t k = 0; k < elements.size(); ++k)
        b.scatter(b.offset(out_[i], static_cast<std::int64_t>(k) * bytes_of(aval)), start,
                  splat_to_width(elements[k]), mask);
      continue;
    }
    if (aval.size() == 0) continue;
    const Place place = region.contiguous(region.output(i), aval);
    if (place.apart.handle) {
      each_bit(b, b.mask_bits(mask), [&](Value lane) {
        const Value id = b.extract(ids, lane);
        Region one(lowering, *split.shared.graph);
        one.copy(region.of_lane(place, aval, lane), aval, one.overwrite(target(i, id)));
      });
      continue;
    }
    const ConstPointer base = b.offset(place.base, place.view.offset * bytes_of(aval) * place.lanes);
    if (place.lanes == width && transposes_lanes(b, aval.dtype(), aval.size(), width)) {
      put_apart(lowering, {safe_ids(ids), aval.size(), aval.dtype()}, base, out_[i], mask);
      continue;
    }
    b.set_lanes(1);
    CountedLoop loop(b, b.index(aval.size()));
    b.set_lanes(place.lanes);
    const Value elements =
        b.load(element_address(base, loop.index(), bytes_of(aval) * place.lanes), aval.dtype());
    b.scatter(element_address(out_[i], loop.index(), bytes_of(aval)), start, splat_to_width(elements), mask);
    loop.close();
  }
}

/// Output i, a list of a lane, or the lists of lanes within the lane: their table must outlast the lane.
Place LaneChunk::lasting(Region& region, std::size_t i) {
  const Aval& aval = split.region->aval(split.region->outputs()[i]);
  Place place = region.output(i);
  if (!of_lanes(aval.list())) return place;
  if (place.lanes > 1) place = lists_of_lanes(region, place, aval);
  b.set_lanes(1);
  const Operand arguments[] = {lowering.context(), place.base, b.index(aval.shape()[0])};
  place.base = lowering.make("apsis_list_table", arguments);
  return place;
}

void LaneChunk::store_list(Region& region, std::size_t i, Value id) {
  b.set_lanes(1);
  // The records of all lanes are alike, so each lane stores the same offset.
  const Place made = lasting(region, i);
  b.store_pointer(element_address(lists_of_result(i), id, sizeof(void*)), made.base);
  b.store(b.offset(out_[i], offsetof(ListValue, offset)), made.offset);
}

}  // namespace apsis::detail
