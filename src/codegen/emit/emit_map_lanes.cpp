// map_lanes without packets: one lane after the other.

#include <algorithm>

#include "codegen/emit/region.hpp"

namespace apsis::detail {

/// Each entry of the mapped operands in turn.
void Region::emit_map_lanes(const Eqn& e) {
  const auto& p = e.params.as<MapLanesParams>();
  auto operands = graph_.operands(e);
  constexpr auto pointer_bytes = static_cast<std::int64_t>(sizeof(void*));
  std::vector<Place> in, out;
  for (ValueId v : operands)
    in.push_back(graph_.aval(v).is_list() ? places_[v] : in_memory(places_[v], graph_.aval(v)));
  int lanes = 1;
  for (const Place& place : in) lanes = std::max(lanes, place.lanes);
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const Aval& aval = graph_.aval(e.first_result + r);
    if (!aval.is_list()) {
      out.push_back(destination(e.first_result + r, lanes).place());
      continue;
    }
    // A table of the lanes' lists, in place of elements.
    Place table = allocate(Aval(Dtype::U64, {p.lanes}), 1).place();
    table.kind = Place::Kind::List;
    out.push_back(std::move(table));
  }
  if (p.lanes > 0) {
    b_.set_lanes(1);
    CountedLoop loop(b_, p.lanes, 1);
    auto entry = [&](const Place& stack, Dtype dtype) {
      Place place = stack;
      b_.set_lanes(1);
      if (stack.kind == Place::Kind::List) {
        place.base = b_.offset(stack.base, b_.mul(loop.index(), b_.index(pointer_bytes)));
        return place;
      }
      place.base = b_.offset(stack.base,
                             b_.mul(loop.index(), b_.index(stack.view.strides[0] * bytes_of(stack, dtype))));
      place.view.shape.erase(0);
      place.view.strides.erase(0);
      return place;
    };
    Region lane(lowering_, *p.region, lanes_, mask_);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Aval& aval = p.region->aval(static_cast<ValueId>(i));
      Place place = p.in_axes[i] < 0 ? in[i] : entry(in[i], aval.dtype());
      if (place.kind == Place::Kind::List && p.in_axes[i] >= 0) place.base = b_.load_pointer(place.base);
      if (in_registers(aval)) {
        place.elements = registers(place, aval);
        place.kind = Place::Kind::Registers;
      }
      lane.bind_input(static_cast<ValueId>(i), std::move(place));
    }
    std::vector<Place> targets;
    for (std::uint32_t r = 0; r < out.size(); ++r) {
      targets.push_back(entry(out[r], graph_.aval(e.first_result + r).dtype()));
      if (targets[r].kind == Place::Kind::Memory) lane.hint_output(r, targets[r]);
    }
    lane.run();
    for (std::uint32_t r = 0; r < out.size(); ++r) {
      if (targets[r].kind == Place::Kind::Memory) {
        lane.write_output(r, targets[r]);
        continue;
      }
      b_.store_pointer(lane.overwrite(targets[r]).base(), lane.output(r).base);
      out[r].offset = lane.output(r).offset;
    }
    loop.close();
  }
  for (std::uint32_t r = 0; r < out.size(); ++r) {
    const Aval& aval = graph_.aval(e.first_result + r);
    if (in_registers(aval))
      define_loaded(e.first_result + r, out[r]);
    else
      define(e.first_result + r, std::move(out[r]));
  }
}

}  // namespace apsis::detail
