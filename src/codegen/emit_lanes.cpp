// map_lanes: the chunk function, and the call that shares the lanes out.

#include <algorithm>

#include "codegen/lane_code.hpp"

namespace apsis::detail {
namespace {

bool has_effect(const Graph& graph) {
  return std::ranges::any_of(graph.eqns(), [](const Eqn& e) {
    return e.op->effect || std::ranges::any_of(regions_of(e.params), [](const Graph* region) { return has_effect(*region); });
  });
}

/// Whether some value cannot be held one lane beside the other: lists, complex numbers.
bool needs_lanes_alone(const Graph& graph) {
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (graph.aval(v).is_list() || is_complex(graph.aval(v).dtype())) return true;
  for (const Eqn& e : graph.eqns()) {
    for (const Graph* region : regions_of(e.params))
      if (needs_lanes_alone(*region)) return true;
  }
  return false;
}

/// Lanes of a packet: as many as a register holds of the widest float that the region carries.
std::size_t widest_float(const Graph& graph) {
  std::size_t bytes = 0;
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (is_floating(graph.aval(v).dtype())) bytes = std::max(bytes, item_size(graph.aval(v).dtype()));
  for (const Eqn& e : graph.eqns())
    for (const Graph* region : regions_of(e.params)) bytes = std::max(bytes, widest_float(*region));
  return bytes;
}

}  // namespace

void Region::emit_packets(const Eqn& e) {
  const auto& p = e.params.as<MapLanesParams>();
  const bool parallel = lowering_.options().parallel && !has_effect(*p.region);  // effects come in the order of the lanes
  const std::size_t bytes = std::clamp<std::size_t>(widest_float(*p.region), 4, 8);
  const int width = has_effect(*p.region) || needs_lanes_alone(*p.region) ? 1 : lowering_.vector_lanes(bytes);
  LaneCode code(lowering_, p, width, width > 1 && lowering_.options().vector_lanes == 0);
  const Function chunk = code.write();

  const auto operands = graph_.operands(e);
  b_.set_lanes(1);
  const Pointer table = b_.stack((operands.size() + e.result_count) * sizeof(void*));
  std::vector<Place> in, out;  // alive until the call
  std::int64_t at = 0;
  const auto pass = [&](Pointer p) {
    b_.set_lanes(1);
    b_.store_pointer(b_.offset(table, static_cast<std::int64_t>(sizeof(void*)) * at++), p);
  };
  const auto list_value = [&](Pointer list, Value offset) {
    b_.set_lanes(1);
    const Pointer value = b_.stack(sizeof(ListValue));
    b_.store_pointer(b_.offset(value, offsetof(ListValue, list)), list);
    b_.store(b_.offset(value, offsetof(ListValue, offset)), offset);
    return value;
  };
  for (ValueId v : operands) {
    const Aval& aval = graph_.aval(v);
    if (aval.is_list()) {
      pass(list_value(places_[v].base, places_[v].offset));
    } else {
      in.push_back(contiguous(places_[v], aval));
      pass(b_.offset(in.back().base, in.back().view.offset * bytes_of(in.back(), aval.dtype())));
    }
  }
  std::vector<Pointer> lists;
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const ValueId v = e.first_result + r;
    if (graph_.aval(v).is_list()) {
      // A table of the lanes' lists, in place of elements.
      Place tables = allocate(Aval(Dtype::U64, {p.lanes}), 1);
      tables.kind = Place::Kind::List;
      out.push_back(std::move(tables));
      lists.push_back(list_value(out.back().base, b_.index(0)));
      pass(lists.back());
    } else {
      out.push_back(destination(v, 1));
      pass(b_.offset(out.back().base, out.back().view.offset * bytes_of(out.back(), graph_.aval(v).dtype())));
    }
  }
  b_.set_lanes(1);
  const Operand arguments[] = {lowering_.context(), b_.address_of(chunk), table, b_.index(p.lanes), b_.index(code.width()),
                               b_.index(code.scratch_bytes()), b_.index(parallel)};
  lowering_.check(b_.call_runtime("apsis_run_lanes", Dtype::I32, arguments));
  auto list = lists.begin();
  b_.set_lanes(1);
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const ValueId v = e.first_result + r;
    if (graph_.aval(v).is_list()) out[r].offset = b_.load_element(b_.offset(*list++, offsetof(ListValue, offset)), Dtype::I64);
    if (in_registers(graph_.aval(v))) define_loaded(v, out[r]);
    else define(v, std::move(out[r]));
  }
}

}  // namespace apsis::detail
