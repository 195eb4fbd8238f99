// map_lanes without packets: one lane after the other.

#include <algorithm>

#include "codegen/emit/equations.hpp"
#include "ir/regions.hpp"

namespace apsis::detail {

/// Each entry of the mapped operands in turn.
void emit_map_lanes(Region& region, const Eqn& e) {
  Builder& b = region.b();
  const auto& p = e.params.as<MapLanesParams>();
  auto operands = region.operands(e);
  constexpr auto pointer_bytes = static_cast<std::int64_t>(sizeof(void*));
  std::vector<Place> in, out;
  for (ValueId v : operands) in.push_back(region.aval(v).is_list() ? region.place(v) : region.in_memory(v));
  int lanes = 1;
  for (const Place& place : in) lanes = std::max(lanes, place.lanes);
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const Aval& aval = region.aval(e.first_result + r);
    if (!aval.is_list()) {
      out.push_back(region.destination(e.first_result + r, lanes).place());
      continue;
    }
    // A table of the lanes' lists, in place of elements.
    Place table = region.allocate(Aval(Dtype::U64, {p.lanes}), 1).place();
    table.kind = Place::Kind::List;
    out.push_back(std::move(table));
  }
  if (p.lanes > 0) {
    b.set_lanes(1);
    CountedLoop loop(b, p.lanes, 1);
    auto entry = [&](const Place& stack, Dtype dtype) {
      Place place = stack;
      b.set_lanes(1);
      if (stack.kind == Place::Kind::List) {
        place.base = b.offset(stack.base, b.mul(loop.index(), b.index(pointer_bytes)));
        return place;
      }
      place.base = b.offset(
          stack.base, b.mul(loop.index(), b.index(stack.view.strides[0] * region.bytes_of(stack, dtype))));
      place.view.shape.erase(0);
      place.view.strides.erase(0);
      return place;
    };
    Region lane(region.lowering(), *p.region, region.lanes(), region.mask());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Aval& aval = p.region->aval(static_cast<ValueId>(i));
      Place place = p.in_axes[i] < 0 ? in[i] : entry(in[i], aval.dtype());
      if (place.kind == Place::Kind::List && p.in_axes[i] >= 0) place.base = b.load_pointer(place.base);
      if (region.in_registers(aval)) {
        place.elements = region.registers(place, aval);
        place.kind = Place::Kind::Registers;
      }
      lane.bind_input(static_cast<ValueId>(i), std::move(place));
    }
    std::vector<Place> targets;
    for (std::uint32_t r = 0; r < out.size(); ++r) {
      targets.push_back(entry(out[r], region.aval(e.first_result + r).dtype()));
      if (targets[r].kind == Place::Kind::Memory) lane.hint_output(r, targets[r]);
    }
    lane.run();
    for (std::uint32_t r = 0; r < out.size(); ++r) {
      if (targets[r].kind == Place::Kind::Memory) {
        lane.write_output(r, targets[r]);
        continue;
      }
      b.store_pointer(lane.overwrite(targets[r]).base(), lane.output(r).base);
      out[r].offset = lane.output(r).offset;
    }
    loop.close();
  }
  for (std::uint32_t r = 0; r < out.size(); ++r) region.define(e.first_result + r, std::move(out[r]));
}

}  // namespace apsis::detail
