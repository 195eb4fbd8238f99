#include "codegen/emit/region.hpp"

#include <algorithm>
#include <utility>

#include "codegen/emit/fused_loop.hpp"
#include "codegen/emit/list_access.hpp"
#include "core/undefined_memory.hpp"
#include "ir/effects.hpp"
#include "ops/dot_params.hpp"
#include "ops/index_params.hpp"
#include "passes/analysis/updates.hpp"

namespace apsis::detail {

Region::Region(Lowering& lowering, const Graph& graph, int lanes, Value mask)
    : lowering_(lowering),
      b_(lowering.b),
      graph_(graph),
      lanes_(lanes),
      mask_(mask),
      places_(graph.value_count()),
      uses_(graph.value_count(), 0),
      hints_(graph.value_count()) {
  for (const Eqn& e : graph.eqns())
    for (ValueId v : graph.operands(e)) ++uses_[v];
  for (ValueId v : graph.outputs()) ++uses_[v];
}

void Region::hint_output(std::size_t output, const Place& target) {
  ValueId v = graph_.outputs()[output];
  if (in_registers(graph_.aval(v)) || graph_.aval(v).is_list()) return;
  Place place = target;
  // The value made there is the memory's only one, whoever has it under another name.
  const auto buffer = std::make_shared<Buffer>();
  buffer->writable = true;
  buffer->parts = {target.buffer};
  place.buffer = BufferReader(buffer);
  bool updated = false;
  while (const Eqn* e = graph_.definition(v)) {
    if (hints_[v]) return;
    ValueId u;
    if (e->op->kind == OpKind::View) {
      // What a reshape reads may be made at the place of its result.
      u = graph_.operands(*e)[0];
      View view;
      const bool same =
          graph_.aval(u).size() == graph_.aval(v).size() && (!updated || uses_[u] == 1) &&
          e->op->view(e->params, graph_.aval(v), View::contiguous(graph_.aval(u).shape()), view) &&
          view.is_contiguous() && view.offset == 0;
      if (!same) {
        hints_[v] = Home(std::move(place));
        return;
      }
      place.view.shape = graph_.aval(u).shape();
      place.view.strides = View::contiguous(place.view.shape).strides;
    } else {
      hints_[v] = Home(Place(place));
      // What an update changes may be made at the place of its result, if nothing else reads it.
      const std::uint32_t result = v - e->first_result;
      const std::int64_t operand = updated_operand(*e, result);
      if (operand < 0 || e->op->kind == OpKind::Cond || e->op->kind == OpKind::Call) return;
      u = graph_.operands(*e)[static_cast<std::size_t>(operand)];
      if (uses_[u] != 1 || loop_carry_use(*e, result) != CarryUse::InPlace) return;
      updated = true;
    }
    v = u;
  }
}

void Region::run_invariant(std::span<const char> inputs) {
  schedule_ = make_schedule(graph_, lowering_.options().register_limit, inputs);
  scheduled_ = true;
  // One use more than there are: what is made here lasts through the loop.
  for (const Item& item : schedule_.invariant)
    for (std::uint32_t i : item.eqns)
      for (std::uint32_t r = 0; r < graph_.eqns()[i].result_count; ++r)
        ++uses_[graph_.eqns()[i].first_result + r];
  run_items(schedule_.invariant);
}

void Region::run() {
  if (!scheduled_) schedule_ = make_schedule(graph_, lowering_.options().register_limit, {});
  // What is scheduled already is a loop's: its invariants were written before it.
  const bool outside = std::exchange(lowering_.repeated, lowering_.repeated || scheduled_);
  const std::int64_t before = lowering_.b.written(), in_loops = lowering_.in_loops;
  run_items(schedule_.items);
  if (scheduled_) lowering_.in_loops = in_loops + lowering_.b.written() - before;
  lowering_.repeated = outside;
}

void Region::run_items(std::span<const Item> items) {
  shares_loops_ = std::ranges::count_if(items, &Item::cluster) >= lowering_.options().many_loops;
  Lowering::Pieces pieces(lowering_);
  for (const Item& item : items) {
    pieces.next();
    lowering_.equations += static_cast<std::int64_t>(item.eqns.size());
    if (item.cluster)
      emit_cluster(item.eqns);
    else
      emit(graph_.eqns()[item.eqns[0]]);
    for (std::uint32_t i : item.eqns) release_operands(graph_.eqns()[i]);
  }
  pieces.end();
}

void Region::release_operands(const Eqn& e) {
  for (ValueId v : graph_.operands(e))
    if (--uses_[v] == 0) release(places_[v]);
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (uses_[e.first_result + r] == 0) release(places_[e.first_result + r]);
}

void Region::release(Place& place) {
  // A loop inside a loop records anew in each iteration: what was recorded goes when the last of its values
  // is read.
  if (place.kind == Place::Kind::List && place.buffer.alone() && place.buffer->records) {
    b_.set_lanes(1);
    const Operand arguments[] = {lowering_.context(), place.base};
    if (place.buffer->tables.empty())
      b_.call_runtime_void("apsis_list_free", arguments);
    else
      free_lists_of_lanes(*place.buffer);
  }
  place = {};
}

void Region::emit(const Eqn& e) {
  switch (e.op->kind) {
    case OpKind::Constant:
      return emit_constant(e);
    case OpKind::View:
      return emit_view(e);
    case OpKind::Call:
      return emit_call(e);
    case OpKind::Cond:
      return emit_cond(e);
    case OpKind::While:
      return emit_while(e);
    case OpKind::Scan:
      return emit_scan(e);
    case OpKind::MapLanes:
      return lanes_ == 1 ? emit_packets(e) : emit_map_lanes(e);
    default:
      break;
  }
  if (e.op->fused_read == FusedRead::AtIndices) {
    const auto number = static_cast<std::uint32_t>(&e - graph_.eqns().data());
    return emit_cluster({&number, 1});
  }
  if (fusible(graph_, e)) return emit_elementwise_registers(e);
  if (emit_nothing(e)) return;
  if (emit_unrolled(e)) return;
  // Ops with code of their own.
  static constexpr std::pair<const Op*, bool (*)(Region&, const Eqn&)> writers[] = {
      {&concatenate_op, write<&Region::emit_concatenate>},
      {&dot_general_op, write<&Region::emit_contract>},
      {&dynamic_slice_op, write<&Region::emit_dynamic_slice>},
      {&dynamic_update_slice_op, write<&Region::emit_dynamic_update_slice>},
      {&gather_op, write<&Region::emit_gather>},
      {&iota_op, write<&Region::emit_iota>},
      {&pad_op, write<&Region::emit_pad>},
      {&progress_op, write<&Region::emit_progress>},
      {&raise_when_op, write<&Region::emit_raise_when>},
      {&scatter_op, write<&Region::emit_scatter>}};
  for (const auto& [op, writer] : writers)
    if (op == e.op && writer(*this, e)) return;
  if (e.op->kind == OpKind::Reduce && emit_reduce(e)) return;
  emit_kernel(e);
}

/// Results without elements need no code, however long their other axes and those of the operands are.
bool Region::emit_nothing(const Eqn& e) {
  if (e.op->kind == OpKind::Effect || e.result_count == 0) return false;
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    const Aval& aval = graph_.aval(e.first_result + r);
    if (aval.is_list() || aval.size() != 0) return false;
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    Place none;
    none.kind = Place::Kind::Registers;
    define(e.first_result + r, std::move(none));
  }
  return true;
}

void Region::emit_constant(const Eqn& e) {
  const auto& p = e.params.as<ConstantParams>();
  Place place;
  if (is_complex(p.dtype)) {
    const std::uint64_t bits[2] = {p.bits, p.high_bits};
    place.kind = Place::Kind::Memory;
    place.view = View::contiguous({});
    place.base = b_.constant_data(std::as_bytes(std::span(bits)).first(item_size(p.dtype)));
  } else {
    b_.set_lanes(1);
    place.kind = Place::Kind::Registers;
    place.elements = {b_.constant(p.dtype, p.bits)};
  }
  define(e.first_result, std::move(place));
}

void Region::emit_view(const Eqn& e) {
  ValueId source = graph_.operands(e)[0];
  const Aval &in = graph_.aval(source), &out = graph_.aval(e.first_result);
  const Place& from = places_[source];
  View view;
  if (from.kind == Place::Kind::Registers && (in_registers(out) || from.elements.size() == 1)) {
    Place place;
    place.kind = Place::Kind::Registers;
    if (from.elements.size() == 1) {
      if (out.size() != 0)
        place.elements.assign(in_registers(out) ? static_cast<std::size_t>(out.size()) : 1, from.elements[0]);
    } else {
      APSIS_ASSERT(e.op->view(e.params, out, View::contiguous(in.shape()), view));
      for (std::int64_t k = 0; k < out.size(); ++k)
        place.elements.push_back(from.elements[static_cast<std::size_t>(view.at(k))]);
    }
    return define(e.first_result, std::move(place));
  }
  Place place = from.kind == Place::Kind::Registers ? in_memory(from, in) : from;
  if (!e.op->view(e.params, out, place.view, view)) {
    const Destination made = destination(source, place.lanes);
    copy(place, in, made);
    place = made.place();
    APSIS_ASSERT(e.op->view(e.params, out, place.view, view));
  }
  place.view = view;
  if (in_registers(out)) return define_loaded(e.first_result, place);
  if (is_copied(e) && place.kind == Place::Kind::Memory) {
    const Destination made = destination(e.first_result, place.lanes);
    copy(place, out, made);
    place = made.place();
  }
  define(e.first_result, std::move(place));
}

bool Region::is_copied(const Eqn& e) const {
  return schedule_.copied[static_cast<std::size_t>(&e - graph_.eqns().data())] != 0;
}

void Region::emit_op(const Eqn& e, std::span<Value> in, std::span<Value> out) {
  align(b_, in);
  e.op->emit(b_, e.params, in, out);
}

void Region::emit_elementwise_registers(const Eqn& e) {
  auto operands = graph_.operands(e);
  std::int64_t size = graph_.aval(e.first_result).size();
  std::vector<Values> in;
  for (ValueId v : operands) in.push_back(registers(places_[v], graph_.aval(v)));
  std::vector<Place> results(e.result_count);
  for (Place& p : results) p.kind = Place::Kind::Registers;
  Values arguments(operands.size()), out(e.result_count);
  for (std::size_t k = 0; k < static_cast<std::size_t>(size); ++k) {
    for (std::size_t i = 0; i < operands.size(); ++i) arguments[i] = in[i][k];
    emit_op(e, arguments, out);
    for (std::uint32_t r = 0; r < e.result_count; ++r) results[r].elements.push_back(out[r]);
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) define(e.first_result + r, std::move(results[r]));
}

bool Region::emit_unrolled(const Eqn& e) {
  if (!e.op->emit_unrolled) return false;
  std::vector<Aval> in_avals, out_avals;
  Values in, out;
  std::size_t size = 0;
  for (ValueId v : graph_.operands(e)) {
    if (!in_registers(graph_.aval(v))) return false;
    in_avals.push_back(graph_.aval(v));
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    out_avals.push_back(graph_.aval(e.first_result + r));
    if (!in_registers(out_avals.back())) return false;
    size += static_cast<std::size_t>(out_avals.back().size());
  }
  for (ValueId v : graph_.operands(e)) {
    Values elements = registers(places_[v], graph_.aval(v));
    in.insert(in.end(), elements.begin(), elements.end());
  }
  out.resize(size);
  align(b_, in);
  e.op->emit_unrolled(b_, e.params, in_avals, in, out_avals, out);
  auto next = out.begin();
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    Place place;
    place.kind = Place::Kind::Registers;
    auto end = next + out_avals[r].size();
    place.elements.assign(next, end);
    next = end;
    define(e.first_result + r, std::move(place));
  }
  return true;
}

int Region::lanes_of(const Location& place) const {
  if (place.kind != Place::Kind::Registers) return place.lanes;
  int lanes = 1;
  for (Value v : place.elements) lanes = std::max(lanes, b_.lanes_of(v));
  return lanes;
}

Place Region::take(ValueId v, bool& last) {
  last = uses_[v] == 1;
  return last ? std::move(places_[v]) : places_[v];
}

std::vector<char> Region::varying(const Eqn& e) {
  std::vector<char> flags;
  for (ValueId v : graph_.operands(e)) flags.push_back(static_cast<char>(lanes_of(places_[v]) > 1));
  return flags;
}

void Region::define(ValueId v, Place place) { places_[v] = std::move(place); }

void Region::define_loaded(ValueId v, const Place& memory) {
  Place place;
  place.kind = Place::Kind::Registers;
  place.elements = registers(memory, graph_.aval(v));
  define(v, std::move(place));
}

Destination Region::destination(ValueId v, int lanes) {
  const Home& hint = hints_[v];
  if (hint && hint.lanes == lanes && is_own(hint)) return Destination(hint.value());
  return allocate(graph_.aval(v), lanes);
}

Target Region::update(const Place& place) const {
  if (is_own(place)) return Target(place, {});
  APSIS_ASSERT(place.lanes > 1);
  return Target(place, mask_);
}

Destination Region::overwrite(const Place& place) const {
  APSIS_ASSERT(is_own(place));
  return Destination(place);
}

Destination Region::allocate(const Aval& aval, int lanes) {
  Place place;
  place.kind = Place::Kind::Memory;
  place.lanes = lanes;
  place.view = View::contiguous(aval.shape());
  place.buffer = BufferReader(lowering_.allocate(static_cast<std::int64_t>(aval.bytes()) * lanes));
  place.base = lowering_.scratch(place.buffer->offset);
  place.kept = mask_;
  if (marks_memory) mark_unwritten(place, aval);
  return Destination(std::move(place));
}

std::vector<Value> Region::registers(const Place& place, const Aval& aval) {
  auto size = static_cast<std::size_t>(aval.size());
  if (place.kind == Place::Kind::Registers)
    return place.elements.size() == size ? place.elements : Values(size, place.elements[0]);
  Values values;
  values.reserve(size);
  for (std::size_t k = 0; k < size; ++k) {
    std::int64_t at = place.view.at(static_cast<std::int64_t>(k));
    b_.set_lanes(1);
    if (place.kind == Place::Kind::Iota) {
      values.push_back(from_index(b_, b_.index(at), aval.dtype()));
      continue;
    }
    const ConstPointer p = b_.offset(place.base, at * bytes_of(place, aval.dtype()));
    if (place.lanes > 1) {
      b_.set_lanes(place.lanes);
      values.push_back(place.apart.handle ? b_.gather(p, place.apart, aval.dtype())
                                          : b_.load(p, aval.dtype()));
    } else {
      values.push_back(b_.load_element(p, aval.dtype()));
    }
  }
  return values;
}

/// For valgrind: what was there before is gone. Of lanes at rest anything may be read, since nothing comes of
/// it.
void Region::mark_unwritten(const Place& place, const Aval& aval) {
  const int lanes_now = b_.lanes();
  const Value active = place.lanes > 1 && mask_.handle ? b_.mask_bits(mask_) : b_.index(-1);
  b_.set_lanes(1);
  const Operand arguments[] = {place.base, b_.index(aval.size()),
                               b_.index(static_cast<std::int64_t>(item_size(aval.dtype()))),
                               b_.index(place.lanes), active};
  b_.call_runtime_void("apsis_mark_unwritten", arguments);
  b_.set_lanes(lanes_now);
}

Place Region::in_memory(const Place& place, const Aval& aval) {
  if (place.kind == Place::Kind::Memory) return place;
  if (place.kind == Place::Kind::Iota) return contiguous(place, aval);
  bool splat = place.elements.size() == 1 && aval.size() != 1;
  Aval stored = splat ? Aval(aval.dtype(), {}) : aval;
  const Destination made = allocate(stored, lanes_of(place));
  Place memory = made.place();
  for (std::size_t k = 0; k < place.elements.size(); ++k) {
    Value v = place.elements[k];
    b_.set_lanes(memory.lanes);
    if (memory.lanes > b_.lanes_of(v)) v = b_.splat(v);
    made.store(b_, static_cast<std::int64_t>(k) * bytes_of(memory, aval.dtype()), v);
  }
  if (splat) memory.view = {aval.shape(), Dims::filled(aval.shape().size(), 0), 0};
  return memory;
}

Place Region::contiguous(const Place& place, const Aval& aval) {
  if (place.kind == Place::Kind::Memory && place.view.is_contiguous()) return place;
  if (place.kind == Place::Kind::Registers && (place.elements.size() > 1 || aval.size() <= 1))
    return in_memory(place, aval);
  const Destination memory = allocate(aval, lanes_of(place));
  copy(place, aval, memory);
  return memory.place();
}

void Region::copy(const Place& from, const Aval& aval, const Target& target) {
  constexpr int most_phases = 16;
  if (aval.size() == 0) return;
  const Place& to = target.place();
  auto item = static_cast<std::int64_t>(item_size(aval.dtype()));
  if (from.apart.handle || to.apart.handle) {
    b_.set_lanes(1);
    const Value all =
        b_.index(static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - std::max(from.lanes, to.lanes))));
    return each_bit(b_, mask_.handle ? b_.mask_bits(mask_) : all,
                    [&](Value lane) { copy(of_lane(from, aval, lane), aval, of_lane(target, aval, lane)); });
  }
  if (from.kind == Place::Kind::Memory && from.view.is_contiguous() && to.view.is_contiguous() &&
      from.lanes == to.lanes && !target.mask_.handle) {
    b_.set_lanes(1);
    const ConstPointer first = b_.offset(from.base, from.view.offset * bytes_of(from, aval.dtype()));
    const Pointer made = b_.offset(target.base_, to.view.offset * bytes_of(to, aval.dtype()));
    return b_.copy_bytes(made, first, b_.index(aval.size() * item * to.lanes));
  }
  if (from.kind == Place::Kind::Registers && static_cast<std::int64_t>(from.elements.size()) == aval.size()) {
    for (std::int64_t k = 0; k < aval.size(); ++k) {
      b_.set_lanes(to.lanes);
      Value v = from.elements[static_cast<std::size_t>(k)];
      if (to.lanes > b_.lanes_of(v)) v = b_.splat(v);
      target.store(b_, to.view.at(k) * bytes_of(to, aval.dtype()), v);
    }
    return;
  }
  // Half-width and complex elements move as integers of their size.
  bool pair = aval.dtype() == Dtype::C128;
  Shape shape = aval.shape();
  Sink sink = target.sink(aval.dtype());
  std::vector<Access> reads;
  if (from.kind != Place::Kind::Registers) reads.push_back({from.view, from.base, aval.dtype(), from.lanes});
  if (is_complex(aval.dtype())) {
    const auto as_words = [&](auto& a) {
      a.dtype = Dtype::U64;
      if (!pair) return;
      // Two words: an axis more, the last.
      for (auto& s : a.view.strides) s *= 2;
      a.view.offset *= 2;
      a.view.shape.push_back(2);
      a.view.strides.push_back(1);
    };
    as_words(sink);
    for (Access& a : reads) as_words(a);
    if (pair) shape.push_back(2);
  }
  if (from.kind == Place::Kind::Iota) reads[0].base = {};
  int lanes = std::max(to.lanes, lanes_of(from));
  LoopNest nest(b_, shape, reads, {&sink, 1}, lanes > 1 ? 1 : lowering_.vector_lanes(item_size(sink.dtype)),
                lanes, most_phases);
  nest.open();
  for (int phase = 0; phase < nest.phases(); ++phase) {
    nest.set_phase(phase);
    nest.store(0, reads.empty() ? from.elements[0] : nest.load(0));
  }
  nest.close();
}

Place Region::of_lane(const Place& place, const Aval& aval, Value lane) {
  Place part = place;
  for (Value& v : part.elements) v = b_.extract(v, lane);
  if (place.kind != Place::Kind::Memory || place.lanes == 1) return part;
  b_.set_lanes(1);
  const Value first = place.apart.handle ? b_.extract(place.apart, lane) : lane;
  part.base =
      b_.offset(place.base, b_.mul(first, b_.index(static_cast<std::int64_t>(item_size(aval.dtype())))));
  part.lanes = 1;
  part.apart = {};
  if (place.apart.handle) return part;
  part.view.offset *= place.lanes;
  for (auto& s : part.view.strides) s *= place.lanes;
  return part;
}

Target Region::of_lane(const Target& target, const Aval& aval, Value lane) {
  return Target(of_lane(target.place(), aval, lane), {});
}

void Region::copy_given(const Place& from, const Aval& aval, const Destination& to) {
  const bool given = from.kind == Place::Kind::Memory && !from.buffer;
  if (!given || !from.view.is_contiguous() || !to.place().view.is_contiguous() || from.lanes > 1 ||
      to.place().lanes > 1)
    return copy(from, aval, to);
  b_.set_lanes(1);
  const auto item = static_cast<std::int64_t>(item_size(aval.dtype()));
  const Operand arguments[] = {to.first(b_, item), b_.offset(from.base, from.view.offset * item),
                               b_.index(aval.size() * item)};
  b_.call_runtime_void("apsis_copy_given", arguments);
}

void Region::write_output(std::size_t i, const Place& target) {
  if (output(i).kind == Place::Kind::List) {
    APSIS_ASSERT(output(i).lanes == target.lanes);
    return write_list(b_, output(i), overwrite(target));
  }
  if (!same_memory(output(i), target)) copy(output(i), graph_.aval(graph_.outputs()[i]), update(target));
}

void Region::emit_call(const Eqn& e) {
  const auto& p = e.params.as<CallParams>();
  Region inner(lowering_, *p.region, lanes_, mask_);
  auto operands = graph_.operands(e);
  // An array used for the last time may be overwritten inside.
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bool last = false;
    inner.bind_input(static_cast<ValueId>(i), take(operands[i], last));
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (const Home& hint = hints_[e.first_result + r]) inner.hint_output(r, hint.value());
  inner.run();
  for (std::uint32_t r = 0; r < e.result_count; ++r) define(e.first_result + r, inner.output(r));
}

}  // namespace apsis::detail

#ifdef APSIS_VALGRIND
extern "C" void apsis_mark_unwritten(char* memory, std::int64_t elements, std::int64_t bytes,
                                     std::int64_t lanes, std::int64_t active) noexcept {
  for (std::int64_t k = 0; k < elements * lanes; ++k)
    if (active >> k % lanes & 1)
      (void)VALGRIND_MAKE_MEM_UNDEFINED(memory + k * bytes, bytes);
    else
      (void)VALGRIND_MAKE_MEM_DEFINED(memory + k * bytes, bytes);
}
#endif
