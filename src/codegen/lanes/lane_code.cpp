#include "codegen/lanes/lane_code.hpp"

#include <algorithm>

#include "codegen/emit/lane_loop.hpp"
#include "codegen/lanes/lane_transpose.hpp"
#include "core/list.hpp"

namespace apsis::detail {
namespace {

std::int64_t bytes_of(const Aval& aval) { return static_cast<std::int64_t>(item_size(aval.dtype())); }

}  // namespace

LaneCode::LaneCode(Lowering& lowering, const MapLanesParams& params, LaneSplit split,
                   std::vector<std::size_t> tapes, int width, bool choose)
    : lowering_(lowering),
      b_(lowering.b),
      params_(params),
      width_(width),
      split_(std::move(split)),
      tapes_(std::move(tapes)),
      tape_offsets_(split_.region->outputs().size(), 0) {
  known_.resize(split_.region->value_count());
  if (split_.loop && split_.loop->op->kind == OpKind::Scan && width > 1) {
    const Loop loop(*split_.loop);
    if (loop.body->outputs().size() == loop.carries)
      outer_ = split_outer_sums(*loop.body, loop.consts, loop.carries, lowering.options().register_limit);
  }
  if (choose && split_.loop && params.lanes >= 16 * width && latency_bound()) width_ *= 2;
}

Loop LaneCode::loop_parts() const {
  Loop loop(*split_.loop);
  if (outer_.body) loop.body = outer_.body.get();
  return loop;
}

/// One step of a small loop is a chain of dependent operations that leaves most of the machine idle: two
/// registers a value give it a second chain (measured on Lorenz by Tsit5: 1.6 times the lane-steps a second).
/// Larger states would be spilled.
bool LaneCode::latency_bound() const {
  constexpr std::int64_t most_elements = 32;
  constexpr std::size_t most_equations = 600;
  std::int64_t elements = 0;
  const auto operands = split_.region->operands(*split_.loop);
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (split_.slots[k] && !lies_apart(k)) elements += split_.region->aval(operands[k]).size();
  return elements <= most_elements && Loop(*split_.loop).body->eqns().size() <= most_equations;
}

/// Whether each lane has its array in one piece: one of which an iteration reads and writes slices. Lanes are
/// at different ones, so that neighbours would share no access, and all of a lane's elements come and go with
/// it.
bool LaneCode::lies_apart(std::size_t operand) const {
  const Loop loop = loop_parts();
  const Aval& aval = split_.region->aval(split_.region->operands(*split_.loop)[operand]);
  const std::int64_t limit = lowering_.options().register_limit;
  if (width_ == 1 || in_registers(aval) || operand >= loop.first_x()) return false;
  const std::size_t carry = operand - loop.first_carry();
  if (operand >= loop.first_carry() &&
      std::ranges::find(outer_.sums, carry, &OuterSum::carry) != outer_.sums.end())
    return false;
  return loop_only_slices(loop, operand, limit);
}

Function LaneCode::write() {
  const Type parameters[] = {pointer_type, pointer_type, {Dtype::I64, 1}, {Dtype::I64, 1}},
             results[] = {{Dtype::I32, 1}};
  const Function chunk = b_.declare("lanes", parameters, results);
  b_.begin(chunk);
  lowering_.begin_function(b_.pointer_parameter(0));
  first_ = b_.parameter(2);
  last_ = b_.parameter(3);
  const std::size_t inputs = split_.region->input_count(), outputs = split_.region->outputs().size();
  for (std::size_t i = 0; i < inputs + outputs; ++i) {
    const Pointer p =
        b_.load_pointer(b_.offset(b_.pointer_parameter(1), static_cast<std::int64_t>(i * sizeof(void*))));
    (i < inputs ? in_ : out_).push_back(p);
  }
  if (split_.region->has_effect()) {
    lanes_ = b_.stack(static_cast<std::size_t>(width_) * sizeof(std::int64_t));
    b_.store_pointer(b_.offset(lowering_.context(), offsetof(CallContext, lanes)), lanes_);
    note_nest();
  }
  load_shared();
  if (!split_.loop)
    write_packets();
  else if (split_.loop->op->kind == OpKind::Scan)
    write_replayed();
  else
    write_refilled();
  b_.set_lanes(1);
  const Value ok = b_.constant(Dtype::I32, static_cast<std::uint64_t>(Status::Ok));
  b_.return_values({&ok, 1});
  known_.clear();
  slots_.clear();
  kept_ = {};
  scratch_bytes_ = lowering_.end_function();
  b_.end();
  return chunk;
}

void LaneCode::note_lanes(Value ids) {
  if (lanes_.handle) b_.store(lanes_, ids);
}

/// For errors, which name the lane by an index for each vmap.
void LaneCode::note_nest() {
  const Dims& nest = params_.nest;
  if (nest.empty()) return;
  const Pointer table = b_.stack((nest.size() + 1) * sizeof(std::int64_t));
  std::int64_t at = 0;
  const auto put = [&](std::int64_t value) {
    b_.store(b_.offset(table, static_cast<std::int64_t>(sizeof(std::int64_t)) * at++), b_.index(value));
  };
  put(static_cast<std::int64_t>(nest.size()));
  for (std::int64_t length : nest) put(length);
  b_.store_pointer(b_.offset(lowering_.context(), offsetof(CallContext, nest)), table);
}

/// What lanes have in common is computed once a chunk.
void LaneCode::load_shared() {
  const Graph& region = *split_.region;
  Region shared(lowering_, *split_.shared.graph);
  for (ValueId v = 0; v < region.input_count(); ++v) {
    if (is_mapped(v)) continue;
    Place& place = known_[v];
    const Aval& aval = region.aval(v);
    if (aval.is_list()) {
      place = list_place(in_[v], b_.load_pointer(b_.offset(in_[v], offsetof(ListValue, list))));
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
  bind(shared, split_.shared, {});
  shared.run();
  for (std::size_t i = 0; i < split_.shared_values.size(); ++i)
    known_[split_.shared_values[i]] = shared.output(i);
}

bool is_read(const Graph& graph, ValueId value) {
  return std::ranges::any_of(graph.eqns(), [&](const Eqn& e) {
    const auto operands = graph.operands(e);
    return std::ranges::find(operands, value) != operands.end();
  });
}

/// Whether an input of what comes before the loop is nothing but the start of slots whose lanes lie apart.
bool LaneCode::passed_on(const GraphPart& part, ValueId input) const {
  if (&part != &split_.before) return false;
  const Graph& graph = *part.graph;
  if (is_read(graph, input)) return false;
  for (std::size_t s = 0; s < slots_.size(); ++s)
    if (graph.outputs()[s] == input && !slots_[s].home.apart.handle) return false;
  return true;
}

void LaneCode::bind(Region& region, const GraphPart& part, Value ids, Value mask) {
  for (std::size_t i = 0; i < part.inputs.size(); ++i) {
    const ValueId v = part.inputs[i];
    const bool of_lane =
        v < split_.region->input_count() && is_mapped(v) && !(width_ > 1 && split_.region->aval(v).is_list());
    Place place = of_lane ? Place{} : known_[v];
    if (of_lane && passed_on(part, static_cast<ValueId>(i))) {
      b_.set_lanes(width_);
      place.kind = Place::Kind::Memory;
      place.base = in_[v];
      place.view = View::contiguous(split_.region->aval(v).shape());
      place.lanes = width_;
      place.apart = b_.mul(ids, b_.splat(b_.index(split_.region->aval(v).size())));
    } else if (of_lane) {
      place = input(v, ids, mask);
    }
    region.bind_input(static_cast<ValueId>(i), std::move(place));
  }
}

/// A list whose header is at `list`; `value` is the ListValue that it belongs to.
Place LaneCode::list_place(ConstPointer value, ConstPointer list) {
  Place place;
  b_.set_lanes(1);
  place.kind = Place::Kind::List;
  place.base = list;
  place.offset = b_.load_element(b_.offset(value, offsetof(ListValue, offset)), Dtype::I64);
  return place;
}

Value LaneCode::splat_to_width(Value v) {
  b_.set_lanes(width_);
  return b_.lanes_of(v) < width_ ? b_.splat(v) : v;
}

/// Input v of the lanes `ids`: one lane's elements where they are, or those of a packet side by side.
Place LaneCode::input(ValueId v, Value ids, Value mask) {
  const Aval& aval = split_.region->aval(v);
  Place place;
  if (width_ == 1) {
    b_.set_lanes(1);
    if (aval.is_list()) {
      const Pointer table = b_.load_pointer(b_.offset(in_[v], offsetof(ListValue, list)));
      return list_place(in_[v], b_.load_pointer(element_address(table, ids, sizeof(void*))));
    }
    place.kind = Place::Kind::Memory;
    place.base = element_address(in_[v], ids, static_cast<std::int64_t>(aval.bytes()));
    place.view = View::contiguous(aval.shape());
    if (in_registers(aval)) {
      Region reader(lowering_, *split_.shared.graph);
      place.elements = reader.registers(place, aval);
      place.kind = Place::Kind::Registers;
    }
    return place;
  }
  b_.set_lanes(width_);
  const Value start = b_.mul(ids, b_.splat(b_.index(aval.size())));
  if (in_registers(aval)) {
    place.kind = Place::Kind::Registers;
    for (std::int64_t k = 0; k < aval.size(); ++k)
      place.elements.push_back(b_.gather(b_.offset(in_[v], k * bytes_of(aval)), start, aval.dtype()));
    return place;
  }
  Region maker(lowering_, *split_.shared.graph, width_, mask);
  const Destination made = maker.allocate(aval, width_);
  place = made.place();
  if (aval.size() == 0) return place;
  if (transposes_lanes(b_, aval.dtype(), aval.size(), width_)) {
    put_side_by_side(b_, {ids, aval.size(), aval.dtype()}, in_[v], made.base(), mask);
    return place;
  }
  b_.set_lanes(1);
  CountedLoop loop(b_, b_.index(aval.size()));
  b_.set_lanes(width_);
  const Value elements =
      b_.gather(element_address(in_[v], loop.index(), bytes_of(aval)), start, aval.dtype());
  b_.store(element_address(made.base(), loop.index(), bytes_of(aval) * width_), elements);
  loop.close();
  return place;
}

/// Where the output of lane `id` is to be, at one lane.
Place LaneCode::target(std::size_t output, Value id) {
  const Aval& aval = split_.region->aval(split_.region->outputs()[output]);
  Place place;
  b_.set_lanes(1);
  place.kind = Place::Kind::Memory;
  place.view = View::contiguous(aval.shape());
  place.base = element_address(out_[output], id, static_cast<std::int64_t>(aval.bytes()));
  return place;
}

void LaneCode::store_outputs(Region& region, Value ids, Value mask) {
  const Graph& graph = *split_.region;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Aval& aval = graph.aval(graph.outputs()[i]);
    if (aval.is_list()) continue;  // on the packet's tape
    b_.set_lanes(width_);
    const Value start = b_.mul(ids, b_.splat(b_.index(aval.size())));
    if (in_registers(aval)) {
      const Values elements = region.registers(region.output(i), aval);
      for (std::size_t k = 0; k < elements.size(); ++k)
        b_.scatter(b_.offset(out_[i], static_cast<std::int64_t>(k) * bytes_of(aval)), start,
                   splat_to_width(elements[k]), mask);
      continue;
    }
    if (aval.size() == 0) continue;
    const Place place = region.contiguous(region.output(i), aval);
    if (place.apart.handle) {
      LaneLoop loop(b_, b_.mask_bits(mask));
      const Value id = b_.extract(ids, loop.lane());
      Region one(lowering_, *split_.shared.graph);
      one.copy(region.of_lane(place, aval, loop.lane()), aval, one.overwrite(target(i, id)));
      loop.close();
      continue;
    }
    const ConstPointer base = b_.offset(place.base, place.view.offset * bytes_of(aval) * place.lanes);
    if (place.lanes == width_ && transposes_lanes(b_, aval.dtype(), aval.size(), width_)) {
      put_apart(b_, {safe_ids(ids), aval.size(), aval.dtype()}, base, out_[i], mask);
      continue;
    }
    b_.set_lanes(1);
    CountedLoop loop(b_, b_.index(aval.size()));
    b_.set_lanes(place.lanes);
    const Value elements =
        b_.load(element_address(base, loop.index(), bytes_of(aval) * place.lanes), aval.dtype());
    b_.scatter(element_address(out_[i], loop.index(), bytes_of(aval)), start, splat_to_width(elements), mask);
    loop.close();
  }
}

/// Output i, a list of a lane, or the lists of lanes within the lane: their table must outlast the lane.
Place LaneCode::lasting(Region& region, std::size_t i) {
  const Aval& aval = split_.region->aval(split_.region->outputs()[i]);
  Place place = region.output(i);
  if (!of_lanes(aval.list())) return place;
  if (place.lanes > 1) place = region.lists_of_lanes(place, aval);
  b_.set_lanes(1);
  const Operand arguments[] = {lowering_.context(), place.base, b_.index(aval.shape()[0])};
  place.base = lowering_.make("apsis_list_table", arguments);
  return place;
}

/// Packets of neighbouring lanes that run their whole region together.
void LaneCode::write_packets() {
  b_.set_lanes(1);
  const Value packets =
      width_ == 1 ? b_.sub(last_, first_)
                  : b_.integer_div(b_.add(b_.sub(last_, first_), b_.index(width_ - 1)), b_.index(width_));
  CountedLoop loop(b_, packets);
  const Value start = b_.add(first_, b_.mul(loop.index(), b_.index(width_)));
  if (width_ == 1) {
    note_lanes(start);
    Region region(lowering_, *split_.after.graph);
    bind(region, split_.after, start);
    std::vector<Place> targets;
    const std::size_t count = split_.region->outputs().size();
    for (std::size_t i = 0; i < count; ++i) {
      targets.push_back(target(i, start));
      if (!split_.region->aval(split_.region->outputs()[i]).is_list()) region.hint_output(i, targets[i]);
    }
    region.run();
    for (std::size_t i = 0; i < count; ++i) {
      if (!split_.region->aval(split_.region->outputs()[i]).is_list()) {
        region.write_output(i, targets[i]);
        continue;
      }
      b_.set_lanes(1);
      // The records of all lanes are alike, so each lane stores the same offset.
      const Place made = lasting(region, i);
      const Pointer lists = b_.load_pointer(b_.offset(out_[i], offsetof(ListValue, list)));
      b_.store_pointer(element_address(lists, start, sizeof(void*)), made.base);
      b_.store(b_.offset(out_[i], offsetof(ListValue, offset)), made.offset);
    }
  } else {
    b_.set_lanes(width_);
    const Value ids = b_.add(b_.splat(start), b_.lane_numbers()), end = b_.splat(last_);
    const Value mask = b_.compare(Compare::Lt, ids, end);
    const Value safe = b_.select(mask, ids, b_.sub(end, b_.constant(Dtype::I64, 1)));
    note_lanes(ids);
    Region region(lowering_, *split_.after.graph, width_, mask);
    bind(region, split_.after, safe);
    region.run();
    store_outputs(region, ids, mask);
  }
  lowering_.poll();
  loop.close();
  b_.set_lanes(1);
  const Operand counts[] = {packets, b_.index(0)};
  b_.call_runtime_void("apsis_count_lanes", counts);
}

}  // namespace apsis::detail
