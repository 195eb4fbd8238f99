// map_lanes: the chunk function, and the call that shares the lanes out.

#include <algorithm>

#include "codegen/emit/equations.hpp"
#include "codegen/lanes/lane_code.hpp"
#include "core/list.hpp"
#include "ir/effects.hpp"

namespace apsis::detail {
namespace {

bool has_list(const Graph& graph, const Eqn& e) {
  for (ValueId v : graph.operands(e))
    if (graph.aval(v).is_list()) return true;
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (graph.aval(e.first_result + r).is_list()) return true;
  return false;
}

/// Whether output i of a lane is a list that a loop in it records.
bool records_list(const Graph& region, std::size_t i) {
  const ValueId v = region.outputs()[i];
  const Eqn* e = region.definition(v);
  return region.aval(v).is_list() && !of_lanes(region.aval(v).list()) && e &&
         (e->op->kind == OpKind::While || e->op->kind == OpKind::Scan);
}

/// Whether some list that a lane gives might be one that it was given.
bool hands_on_list(const Graph& region) {
  for (std::size_t i = 0; i < region.outputs().size(); ++i)
    if (region.aval(region.outputs()[i]).is_list() && !records_list(region, i)) return true;
  return false;
}

/// Stands for the lists in tables of lanes.
BufferOwner owner_of_lists(std::span<const Place> tables, std::int64_t lanes, int packet) {
  auto owner = std::make_shared<Buffer>();
  owner->records = true;
  owner->lanes = lanes;
  owner->packet = packet;
  for (const Place& table : tables) {
    owner->tables.push_back(table.base);
    owner->parts.push_back(table.buffer);
  }
  return owner;
}

/// Whether some value cannot be held one lane beside the other: complex numbers; lists that a branch hands
/// on, or lanes within the lane.
bool needs_lanes_alone(const Graph& graph) {
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (is_complex(graph.aval(v).dtype())) return true;
  for (const Eqn& e : graph.eqns()) {
    if ((e.op->kind == OpKind::MapLanes || e.op->kind == OpKind::Cond) && has_list(graph, e)) return true;
    for (const Graph* region : regions_of(e.params))
      if (needs_lanes_alone(*region)) return true;
  }
  return false;
}

/// Whether a lane is straight-line code on arrays that are longer than those of packets.
bool is_long(const Graph& region) {
  constexpr std::int64_t longest_in_packets = 1024;
  std::int64_t longest = 0;
  for (ValueId v = 0; v < region.value_count(); ++v) longest = std::max(longest, region.aval(v).size());
  return longest > longest_in_packets &&
         std::ranges::all_of(region.eqns(), [](const Eqn& e) { return regions_of(e.params).empty(); });
}

/// Lanes of a packet: as many as a register holds of the widest float that the region works with. Weak values
/// are constants and settings, which do not decide.
std::size_t widest_float(const Graph& graph) {
  std::size_t bytes = 0;
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (is_floating(graph.aval(v).dtype()) && !graph.aval(v).weak())
      bytes = std::max(bytes, item_size(graph.aval(v).dtype()));
  for (const Eqn& e : graph.eqns())
    for (const Graph* region : regions_of(e.params)) bytes = std::max(bytes, widest_float(*region));
  return bytes;
}

struct Packets {
  int width = 1;
  bool may_double = false;
  LaneSplit split;
};

/// How the lanes run: how many a packet holds, and what the loop in it is. Lists that come in must be on
/// tapes of one width.
Packets plan_packets(Region& region, const Eqn& e) {
  const auto& p = e.params.as<MapLanesParams>();
  std::vector<char> mapped;
  for (std::int64_t axis : p.in_axes) mapped.push_back(axis >= 0);
  Packets packets;
  const auto alone = [&] { return Packets{1, false, split_lanes(*p.region, mapped, false)}; };
  if (calls_host(*p.region) || needs_lanes_alone(*p.region) || is_long(*p.region)) return alone();
  packets.width = region.lowering().vector_lanes(std::clamp<std::size_t>(widest_float(*p.region), 4, 8));
  packets.may_double = region.lowering().options().vector_lanes == 0;
  const auto operands = region.operands(e);
  bool first = true;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!mapped[i] || !region.aval(operands[i]).is_list()) continue;
    const int lanes = region.place(operands[i]).lanes;
    if (!first && lanes != packets.width) return alone();
    packets.width = lanes;
    packets.may_double = first = false;
  }
  if (packets.width == 1) return alone();
  packets.split = split_lanes(*p.region, mapped, true);
  if (!packets.split.lists_fit) return alone();
  return packets;
}

/// A call of the function that runs a chunk of lanes: the table of what it is given, and what it makes.
class PacketsCall {
 public:
  PacketsCall(Region& outer, const Eqn& e, LaneCode& code)
      : outer_(outer), b_(outer.b()), e_(e), p_(e.params.as<MapLanesParams>()), code_(code) {
    b_.set_lanes(1);
    table_ = b_.stack((outer_.operands(e).size() + e.result_count) * sizeof(void*));
  }

  void pass_operands() {
    for (ValueId v : outer_.operands(e_)) {
      const Aval& aval = outer_.aval(v);
      if (aval.is_list())
        pass_list(outer_.place(v), aval);
      else
        pass_array(in_.emplace_back(outer_.contiguous(outer_.place(v), aval)), aval);
    }
  }

  void make_results() {
    for (std::uint32_t r = 0; r < e_.result_count; ++r) {
      const ValueId v = e_.first_result + r;
      const Aval& aval = outer_.aval(v);
      if (!aval.is_list()) {
        pass_array(out_.emplace_back(outer_.destination(v, 1).place()), aval);
        continue;
      }
      // A table of the lanes' lists, or of the chunks' tapes, which are fewer, in place of elements.
      Place tables = outer_.allocate(Aval(Dtype::U64, {p_.lanes}), 1).place();
      tables.kind = Place::Kind::List;
      tables.lanes = code_.width();
      out_.push_back(std::move(tables));
      lists_.push_back(list_value(out_.back().base, b_.index(0)));
      pass(lists_.back());
    }
  }

  void call(Function chunk, bool parallel) {
    b_.set_lanes(1);
    const Operand arguments[] = {
        outer_.lowering().context(), b_.address_of(chunk),    table_,
        b_.index(p_.lanes),          b_.index(code_.width()), b_.index(code_.scratch_bytes()),
        b_.index(parallel)};
    outer_.lowering().check(b_.call_runtime("apsis_run_lanes", Dtype::I32, arguments));
    // Lists go when the last of their values is read, as those do that a loop makes outside lanes.
    if (!hands_on_list(*p_.region))
      for (const BufferOwner& lists : unpacked_) free_lists_of_lanes(outer_, *lists);
  }

  void define_results() {
    std::vector<Place> recorded;
    for (std::uint32_t r = 0; r < e_.result_count; ++r)
      if (records_list(*p_.region, r)) recorded.push_back(out_[r]);
    const BufferOwner owner = owner_of_lists(recorded, p_.lanes, code_.width());
    for (std::uint32_t r = 0; r < e_.result_count; ++r)
      if (records_list(*p_.region, r)) out_[r].buffer = BufferReader(owner);
    auto list = lists_.begin();
    b_.set_lanes(1);
    for (std::uint32_t r = 0; r < e_.result_count; ++r) {
      const ValueId v = e_.first_result + r;
      if (outer_.aval(v).is_list()) {
        const Value offset = b_.load_element(b_.offset(*list++, offsetof(ListValue, offset)), Dtype::I64);
        out_[r].offset = code_.width() > 1 ? b_.index(code_.tape_offset(r)) : offset;
      }
      outer_.define(v, std::move(out_[r]));
    }
  }

 private:
  void pass(ConstPointer p) {
    b_.set_lanes(1);
    b_.store_pointer(b_.offset(table_, static_cast<std::int64_t>(sizeof(void*)) * passed_++), p);
  }
  void pass_array(const Place& place, const Aval& aval) {
    pass(b_.offset(place.base, place.view.offset * outer_.bytes_of(place, aval.dtype())));
  }
  void pass_list(const Place& given, const Aval& aval) {
    const bool unpack = of_lanes(aval.list()) && code_.width() == 1 && given.lanes > 1;
    if (unpack) {
      // Of lanes of their own, which need not be those of this equation: it may give all to each of its
      // lanes.
      in_.push_back(lists_of_lanes(outer_, given, aval));
      unpacked_.push_back(owner_of_lists({&in_.back(), 1}, aval.shape()[0], 1));
    }
    const Place& place = unpack ? in_.back() : given;
    pass(list_value(place.base, place.offset));
  }
  Pointer list_value(ConstPointer list, Value offset) {
    b_.set_lanes(1);
    const Pointer value = b_.stack(sizeof(ListValue));
    b_.store_pointer(b_.offset(value, offsetof(ListValue, list)), list);
    b_.store(b_.offset(value, offsetof(ListValue, offset)), offset);
    return value;
  }

  Region& outer_;
  Builder& b_;
  const Eqn& e_;
  const MapLanesParams& p_;
  LaneCode& code_;
  Pointer table_;
  std::int64_t passed_ = 0;
  std::vector<Place> in_, out_;        // alive until the call
  std::vector<BufferOwner> unpacked_;  // lists that were made for it
  std::vector<Pointer> lists_;         // among the results
};

}  // namespace

void emit_packets(Region& region, const Eqn& e) {
  const auto& p = e.params.as<MapLanesParams>();
  const auto operands = region.operands(e);
  Packets packets = plan_packets(region, e);
  // Lists from one tape are read together.
  std::vector<std::size_t> tapes(operands.size(), 0);
  for (std::size_t i = 0; i < operands.size(); ++i)
    while (region.aval(operands[i]).is_list() &&
           region.place(operands[tapes[i]]).base.handle != region.place(operands[i]).base.handle)
      ++tapes[i];
  LaneCode code(region.lowering(), p, std::move(packets.split), std::move(tapes), packets.width,
                packets.may_double && packets.width > 1);
  const Function chunk = code.write();
  PacketsCall call(region, e, code);
  call.pass_operands();
  call.make_results();
  // Functions of the host are called in the order of the lanes.
  call.call(chunk, region.lowering().options().parallel && !calls_host(*p.region));
  call.define_results();
}

}  // namespace apsis::detail
