// while and scan as loops of the machine: the condition at the head, one poll of the cancel flag a back edge.

#include <algorithm>

#include "codegen/emit/list_access.hpp"
#include "codegen/emit/loop_carries.hpp"
#include "core/list.hpp"
#include "ir/loop.hpp"
#include "passes/analysis/lane_variance.hpp"

namespace apsis::detail {

extern const Op add_op;

namespace {

std::vector<Aval> outputs_from(const Graph& body, std::size_t first) {
  std::vector<Aval> avals;
  for (std::size_t i = first; i < body.outputs().size(); ++i) avals.push_back(body.aval(body.outputs()[i]));
  return avals;
}

/// A list that a loop makes: its entries are counted, or are a field of its records.
struct MadeList {
  Value first, step;
  std::size_t output, field;
};

/// What an integer carry grows by in each iteration, if that is a literal; else null.
const ConstantParams* step_of(const Graph& body, ValueId input, ValueId output) {
  const Eqn* sum = body.definition(output);
  if (!sum || sum->op != &add_op || body.aval(input).rank() != 0 || is_floating(body.aval(input).dtype()))
    return nullptr;
  const auto terms = body.operands(*sum);
  for (std::size_t i = 0; i < 2; ++i) {
    const Eqn* by = body.definition(terms[1 - i]);
    if (terms[i] == input && by && by->op == &constant_op) return &by->params.as<ConstantParams>();
  }
  return nullptr;
}

/// Whether a list is read by scans alone, entry by entry.
bool only_scanned(const Graph& graph, ValueId list) {
  if (std::ranges::find(graph.outputs(), list) != graph.outputs().end()) return false;
  return std::ranges::all_of(graph.eqns(), [&](const Eqn& e) {
    auto whole = graph.operands(e);
    if (e.op->kind == OpKind::Scan) whole = whole.first(Loop(e).first_x());
    return std::ranges::find(whole, list) == whole.end();
  });
}

}  // namespace

void Region::emit_while(const Eqn& e) {
  const Loop p(e);
  auto operands = graph_.operands(e);
  const std::size_t cond_consts = p.cond_consts, consts = p.consts, count = p.carries;
  bool lanes_differ = false, wide = false;
  std::vector<char> varying_carry(count, 0);
  if (lanes_ > 1) {
    varying_carry = varying_carries(e, varying(e), lanes_differ);
    std::vector<char> results = varying_results(graph_, e, varying(e));
    wide = results.size() > count && results[count];  // all lists alike
  }

  // Before the loop: what does not change in it, the homes of the carries, the tape.
  Region cond(lowering_, *p.cond, lanes_, mask_), body(lowering_, *p.body, lanes_, mask_);
  LoopCarries carries(*this, *p.body, consts, varying_carry);
  std::vector<char> cond_fixed(p.cond->input_count(), 0), body_fixed(p.body->input_count(), 0);
  std::vector<MadeList> lists;
  std::vector<Aval> recorded;
  for (std::size_t i = count; i < e.result_count; ++i) {
    const ValueId made = p.body->outputs()[i];
    MadeList& list = lists.emplace_back(MadeList{{}, {}, i, recorded.size()});
    // What counts iterations is not written down: those who read it count too.
    const std::size_t c = made - consts;
    const bool carry = made >= consts && c < count && lanes_ == 1;
    const ConstantParams* by = carry ? step_of(*p.body, made, p.body->outputs()[c]) : nullptr;
    if (by && only_scanned(graph_, e.first_result + static_cast<ValueId>(i))) {
      list.first = registers(places_[operands[cond_consts + consts + c]], p.body->aval(made))[0];
      b_.set_lanes(1);
      list.step = b_.constant(by->dtype, by->bits);
    } else {
      recorded.push_back(p.body->aval(made));
    }
  }
  for (std::size_t i = 0; i < cond_consts; ++i) {
    cond.bind_input(static_cast<ValueId>(i), places_[operands[i]]);
    cond_fixed[i] = 1;
  }
  for (std::size_t i = 0; i < consts; ++i) {
    body.bind_input(static_cast<ValueId>(i), places_[operands[cond_consts + i]]);
    body_fixed[i] = 1;
  }
  for (std::size_t i = 0; i < count; ++i) {
    bool last = false;
    Place initial = take(operands[cond_consts + consts + i], last);
    carries.start(std::move(initial), last, e.first_result + static_cast<ValueId>(i));
    if (!carries.unchanged(i)) continue;
    cond.bind_input(static_cast<ValueId>(cond_consts + i), carries.place(i));
    body.bind_input(static_cast<ValueId>(consts + i), carries.place(i));
    cond_fixed[cond_consts + i] = body_fixed[consts + i] = 1;
  }
  cond.run_invariant(cond_fixed);
  body.run_invariant(body_fixed);
  // In a packet each lane has entries as long as it is in the loop; the record has room for all.
  ListWriter tape(lowering_, recorded, wide ? lanes_ : 1);
  if (!lists.empty()) tape.make();

  Block before = b_.position(), head = b_.make_block("while"), inside = b_.make_block("body"),
        after = b_.make_block("done");
  b_.jump(head);
  b_.set_position(head);
  carries.open(before);
  Value steps;
  if (p.max_steps >= 0) {
    b_.set_lanes(1);
    steps = b_.phi(Dtype::I64);
    b_.add_incoming(steps, b_.index(0), before);
  }
  Value entries;
  if (!lists.empty()) {
    if (lanes_differ) {
      b_.set_lanes(lanes_);
      entries = b_.phi(Dtype::I64);
      b_.add_incoming(entries, b_.constant(Dtype::I64, 0), before);
    }
    tape.open(before);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (carries.unchanged(i)) continue;
    cond.bind_input(static_cast<ValueId>(cond_consts + i), carries.place(i));
    body.bind_input(static_cast<ValueId>(consts + i), carries.place(i));
  }
  cond.run();
  Value go_on = registers(cond.output(0), p.cond->aval(p.cond->outputs()[0]))[0], mask;
  if (b_.lanes_of(go_on) > 1) {
    b_.set_lanes(lanes_);
    mask = mask_.handle ? b_.bit_and(mask_, go_on) : go_on;
    go_on = b_.any(mask);
    body.set_mask(mask);
  }
  b_.set_lanes(1);
  b_.branch(go_on, inside, after);
  b_.set_position(inside);
  if (p.max_steps >= 0) {
    const Operand arguments[] = {lowering_.context(), b_.index(p.max_steps), b_.index(p.site)};
    Block exceeded = b_.make_block("exceeded"), below = b_.make_block("below");
    b_.branch(b_.compare(Compare::Ge, steps, b_.index(p.max_steps)), exceeded, below, Likely::False);
    b_.set_position(exceeded);
    lowering_.check(b_.call_runtime("apsis_fail_max_steps", Dtype::I32, arguments));
    b_.jump(below);
    b_.set_position(below);
  }
  if (!lists.empty()) {
    tape.next();
    for (const MadeList& list : lists)
      if (!list.step.handle) body.hint_output(list.output, tape.field(list.field, body.mask()));
  }
  carries.hint(body);
  body.run();
  for (const MadeList& list : lists)
    if (!list.step.handle) body.write_output(list.output, tape.field(list.field, body.mask()));
  carries.close(body, mask);
  lowering_.poll();
  b_.set_lanes(1);
  if (p.max_steps >= 0) b_.add_incoming(steps, b_.add(steps, b_.index(1)), b_.position());
  if (entries.handle) {
    b_.set_lanes(lanes_);
    Value inside_loop = mask.handle ? mask : b_.constant(Dtype::Bool, 1);
    b_.add_incoming(entries, b_.add(entries, b_.convert(inside_loop, Dtype::I64)), b_.position());
  }
  Block latch = b_.position();
  carries.link(latch);
  if (!lists.empty()) tape.link(latch);
  b_.jump(head);
  b_.set_position(after);
  if (!lists.empty()) tape.close();
  for (std::size_t i = 0; i < count; ++i) define(e.first_result + static_cast<ValueId>(i), carries.place(i));
  for (const MadeList& list : lists) {
    Place place = list.step.handle ? tape.counted() : tape.list(list.field, entries);
    place.first = list.first;
    place.step = list.step;
    define(e.first_result + static_cast<ValueId>(list.output), std::move(place));
  }
}

void Region::emit_scan(const Eqn& e) {
  const Loop p(e);
  auto operands = graph_.operands(e);
  const std::size_t consts = p.consts, count = p.carries, first_x = p.first_x();
  bool lanes_differ = false;
  std::vector<char> varying_carry(count, 0), varying_result(e.result_count, 0);
  if (lanes_ > 1) {
    varying_carry = varying_carries(e, varying(e), lanes_differ);
    varying_result = varying_results(graph_, e, varying(e));
  }

  Region body(lowering_, *p.body, lanes_, mask_);
  LoopCarries carries(*this, *p.body, consts, varying_carry);
  std::vector<char> fixed(p.body->input_count(), 0);
  for (std::size_t i = 0; i < consts; ++i) {
    body.bind_input(static_cast<ValueId>(i), places_[operands[i]]);
    fixed[i] = 1;
  }
  for (std::size_t i = 0; i < count; ++i) {
    bool last = false;
    Place initial = take(operands[consts + i], last);
    carries.start(std::move(initial), last, e.first_result + static_cast<ValueId>(i));
    if (!carries.unchanged(i)) continue;
    body.bind_input(static_cast<ValueId>(consts + i), carries.place(i));
    fixed[consts + i] = 1;
  }
  body.run_invariant(fixed);

  // What is read and written entry by entry: lists and stacks.
  std::vector<Aval> ys = outputs_from(*p.body, count), recorded;
  std::vector<std::size_t> field_of;  // by y: in the record, if it goes into a list
  bool wide = false;                  // all lists alike
  for (std::size_t i = 0; i < ys.size(); ++i) {
    field_of.push_back(recorded.size());
    if (!graph_.aval(e.first_result + static_cast<ValueId>(count + i)).is_list()) continue;
    recorded.push_back(ys[i]);
    wide = varying_result[count + i] != 0;
  }
  std::vector<Place> xs, stacks(ys.size());
  std::vector<ListReader> readers;
  std::vector<std::size_t> reader_of;
  ListWriter tape(lowering_, recorded, wide ? lanes_ : 1);
  Value entries;  // where lanes differ in length, the length in each
  for (std::size_t i = first_x; i < operands.size(); ++i) {
    const Place& place = places_[operands[i]];
    if (place.kind == Place::Kind::List) {
      auto known = std::ranges::find_if(
          readers, [&](const ListReader& r) { return r.list().handle == place.base.handle; });
      reader_of.push_back(static_cast<std::size_t>(known - readers.begin()));
      if (known == readers.end()) readers.emplace_back(lowering_, place.base, p.reverse);
      if (!place.step.handle) readers[reader_of.back()].reads_records();
      xs.push_back(place);
      if (!place.elements.empty()) entries = place.elements[0];
    } else {
      reader_of.push_back(readers.size());
      xs.push_back(in_memory(place, graph_.aval(operands[i])));
    }
  }
  b_.set_lanes(1);
  const Value length = p.length < 0 ? readers[0].length() : b_.index(p.length);
  const bool taped = !recorded.empty();
  if (taped) tape.make(length, p.reverse);
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const ValueId v = e.first_result + static_cast<ValueId>(count + i);
    if (!graph_.aval(v).is_list()) stacks[i] = destination(v, varying_result[count + i] ? lanes_ : 1).place();
  }

  Block before = b_.position(), head = b_.make_block("scan"), inside = b_.make_block("body"),
        after = b_.make_block("done");
  b_.jump(head);
  b_.set_position(head);
  b_.set_lanes(1);
  Value trip = b_.phi(Dtype::I64);
  b_.add_incoming(trip, b_.index(0), before);
  carries.open(before);
  for (ListReader& r : readers) r.open(before);
  if (taped) tape.open(before);
  b_.set_lanes(1);
  b_.branch(b_.compare(Compare::Lt, trip, length), inside, after);
  b_.set_position(inside);

  Value index = p.reverse ? b_.sub(b_.sub(length, b_.index(1)), trip) : trip, mask;
  if (entries.handle) {
    b_.set_lanes(lanes_);
    mask = b_.compare(Compare::Lt, b_.splat(index), entries);
    body.set_mask(mask_.handle ? b_.bit_and(mask_, mask) : mask);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (!carries.unchanged(i)) body.bind_input(static_cast<ValueId>(consts + i), carries.place(i));
  for (ListReader& r : readers) r.next();
  if (taped) tape.next();
  // Entry `index` of something stacked along axis 0.
  auto entry = [&](const Place& stack, Dtype dtype) {
    Place place = stack;
    b_.set_lanes(1);
    place.base =
        b_.offset(stack.base, b_.mul(index, b_.index(stack.view.strides[0] * bytes_of(stack, dtype))));
    place.view.shape.erase(0);
    place.view.strides.erase(0);
    return place;
  };
  for (std::size_t i = 0; i < xs.size(); ++i) {
    auto input = static_cast<ValueId>(first_x + i);
    const Aval& aval = p.body->aval(input);
    Place place;
    if (xs[i].step.handle) {
      b_.set_lanes(1);
      place.elements = {b_.add(xs[i].first, b_.mul(b_.convert(index, aval.dtype()), xs[i].step))};
      place.kind = Place::Kind::Registers;
    } else {
      place = xs[i].kind == Place::Kind::List ? readers[reader_of[i]].field(xs[i], aval)
                                              : entry(xs[i], aval.dtype());
      if (in_registers(aval)) {
        place.elements = registers(place, aval);
        place.kind = Place::Kind::Registers;
      }
    }
    body.bind_input(input, std::move(place));
  }
  std::vector<Place> targets;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const bool stacked = stacks[i].kind != Place::Kind::None;
    targets.push_back(stacked ? entry(stacks[i], ys[i].dtype()) : tape.field(field_of[i], body.mask()));
    body.hint_output(count + i, targets[i]);
  }
  carries.hint(body);
  body.run();
  for (std::size_t i = 0; i < ys.size(); ++i) body.write_output(count + i, targets[i]);
  carries.close(body, mask);
  lowering_.poll();
  b_.set_lanes(1);
  b_.add_incoming(trip, b_.add(trip, b_.index(1)), b_.position());
  Block latch = b_.position();
  carries.link(latch);
  for (ListReader& r : readers) r.link(latch);
  if (taped) tape.link(latch);
  b_.jump(head);
  b_.set_position(after);

  for (std::size_t i = 0; i < e.result_count; ++i) {
    ValueId v = e.first_result + static_cast<ValueId>(i);
    if (i < count)
      define(v, carries.place(i));
    else if (graph_.aval(v).is_list())
      define(v, tape.list(field_of[i - count], entries));
    else if (in_registers(graph_.aval(v)))
      define_loaded(v, stacks[i - count]);
    else
      define(v, std::move(stacks[i - count]));
  }
}

/// One lane after the other, each entry of the mapped operands in turn.
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
