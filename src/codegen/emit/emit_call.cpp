// Calls. A function that the program calls once, or that is short, is written where it is called. One that is
// called several times becomes a machine function, which all calls with operands of the same kind share:
// values in registers, scalars or packets of lanes, go by value, arrays by their addresses, results in
// registers through scratch memory, the call's frame. What calls alone read stays there, arrays included,
// and goes by the address of the frame, however much it is.

#include <algorithm>
#include <map>

#include "codegen/emit/equations.hpp"
#include "ir/regions.hpp"
#include "passes/analysis/lane_variance.hpp"

namespace apsis::detail {
namespace {

constexpr std::int64_t scratch_begins = 64;  // after a context
static_assert(sizeof(CallContext) <= scratch_begins && scratch_begins % Arena::alignment == 0);

void write_in_place(Region& region, const Eqn& e) {
  Region inner(region.lowering(), *e.params.as<CallParams>().region, region.lanes(), region.mask());
  const auto operands = region.operands(e);
  // An array used for the last time may be overwritten inside.
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bool last = false;
    inner.bind_input(static_cast<ValueId>(i), region.take(operands[i], last));
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    if (const Home& hint = region.hint(e.first_result + r)) inner.hint_output(r, hint.value());
  inner.run();
  for (std::uint32_t r = 0; r < e.result_count; ++r) region.define(e.first_result + r, inner.output(r));
}

/// A call of a machine function.
class FunctionCall {
 public:
  FunctionCall(Region& outer, const Eqn& e)
      : outer_(outer),
        lowering_(outer.lowering()),
        b_(outer.b()),
        e_(e),
        graph_(*e.params.as<CallParams>().region),
        common_(lowering_.shared_calls.common(graph_)) {
    append(outer.lanes());
    b_.set_lanes(1);
    pass(lowering_.context());
    frame_parameter_ = types_.size();
    types_.push_back(pointer_type);
    arguments_.emplace_back(Pointer{});
    const auto operands = outer.operands(e);
    for (std::size_t i = 0; i < operands.size(); ++i)
      pass_operand(outer.place(operands[i]), outer.aval(operands[i]), i);
    place_results();
    append(outer.mask().handle != nullptr);
    if (outer.mask().handle) pass(outer.mask());
  }

  void write() {
    Lowering::SharedFunction& function = this->function();
    ++function.calls;
    b_.set_lanes(1);
    const BufferOwner frame = lowering_.allocate(std::max<std::int64_t>(frame_bytes_, 1));
    const Pointer results = lowering_.scratch(frame->offset);
    arguments_[frame_parameter_] = results;
    for (std::uint32_t r = 0; r < results_.size(); ++r)
      if (results_[r].stays) results_[r].made = staying(results_[r], result_aval(r), frame, results);
    BufferOwner scratch;
    if (function.scratch_bytes > 0) {
      scratch = lowering_.allocate(scratch_begins + function.scratch_bytes);
      arguments_[0] = context_with(lowering_.scratch(scratch->offset));
    }
    Value status;
    b_.call(function.function, arguments_, {&status, 1});
    if (function.may_fail) lowering_.check(status);
    for (std::uint32_t r = 0; r < results_.size(); ++r) define(r, results);
  }

 private:
  struct Result {
    int lanes = 1;
    bool in_frame = false;  // else where the caller wants it
    bool stays = false;     // in the frame, after the call
    std::int64_t at = 0;    // in the frame
    Place made;             // in memory
  };

  void append(std::int64_t word) { key_.append(reinterpret_cast<const char*>(&word), sizeof word); }
  void pass(Pointer p) {
    types_.push_back(pointer_type);
    arguments_.emplace_back(p);
  }
  void pass(Value v) {
    types_.push_back({v.dtype, b_.lanes_of(v)});
    arguments_.emplace_back(v);
  }

  void append_view(const Place& place) {
    append(place.lanes);
    for (std::int64_t stride : place.view.strides) append(stride);
  }

  /// The address of the first element; the place begins there.
  Pointer first_of(Place& place, Dtype dtype) {
    const ConstPointer first = b_.offset(place.base, place.view.offset * PlaceAccess::bytes_of(place, dtype));
    place.view.offset = 0;
    return {first.handle};
  }

  void pass_operand(const Place& from, const Aval& aval, std::size_t i) {
    Place place = from;
    if (place.apart.handle) place = gathered(place, aval);
    place.between_calls = place.between_calls && common_.operands_between[i];
    // One number for all elements, where other calls have an array: the same code does for both.
    if (place.kind == Place::Kind::Registers && !outer_.in_registers(aval) && !common_.operands_numbers[i])
      place = outer_.contiguous(place, aval);
    if (place.kind == Place::Kind::Memory && !place.between_calls && outer_.in_registers(aval)) {
      place = {};
      place.kind = Place::Kind::Registers;
      place.elements = outer_.registers(from, aval);
      b_.set_lanes(1);
    }
    append(static_cast<std::int64_t>(place.kind));
    append(static_cast<std::int64_t>(place.elements.size()));
    for (Value v : place.elements) {
      append(b_.lanes_of(v));
      pass(v);
    }
    append(place.between_calls);
    if (place.between_calls)
      pass_frame(place);
    else if (place.kind == Place::Kind::Memory)
      pass(first_of(place, aval.dtype()));
    if (place.kind != Place::Kind::Registers) {
      append_view(place);
      append(place.view.offset);
    }
    operands_.push_back(std::move(place));
  }

  /// What another call left in its frame is passed with all else there: by the address of the frame.
  void pass_frame(const Place& place) {
    const auto [known, fresh] =
        frames_.try_emplace(place.base.handle, static_cast<std::int64_t>(frames_.size()));
    if (fresh) pass(Pointer{place.base.handle});
    append(known->second);
  }

  /// Lanes that lie apart, side by side.
  Place gathered(const Place& place, const Aval& aval) {
    const Destination made = outer_.allocate(aval, place.lanes);
    outer_.copy(place, aval, made);
    b_.set_lanes(1);
    return made.place();
  }

  void place_results() {
    std::vector<char> flags;
    for (const Place& operand : operands_) flags.push_back(static_cast<char>(outer_.lanes_of(operand) > 1));
    const std::vector<char> varying = outer_.lanes() > 1 ? varying_results(outer_.graph(), e_, flags)
                                                         : std::vector<char>(e_.result_count, 0);
    for (std::uint32_t r = 0; r < e_.result_count; ++r) {
      const ValueId v = e_.first_result + r;
      const Aval& aval = outer_.aval(v);
      const bool few = outer_.in_registers(aval);
      Result& result = results_.emplace_back();
      result.lanes = varying[r] ? outer_.lanes() : 1;
      result.stays = outer_.is_between_calls(v) && (few || common_.results_between[r]);
      result.in_frame = few || result.stays;
      append(result.lanes);
      append(result.in_frame);
      if (result.in_frame) {
        const std::int64_t bytes = bytes_of(result, aval),
                           align = few ? bytes : std::max(bytes, Arena::alignment);
        result.at = frame_bytes_ = (frame_bytes_ + align - 1) / align * align;
        frame_bytes_ += aval.size() * bytes;
        continue;
      }
      result.made = outer_.destination(v, result.lanes).place();
      b_.set_lanes(1);
      Place target = result.made;
      pass(first_of(target, aval.dtype()));
      append_view(target);
    }
  }

  static std::int64_t bytes_of(const Result& result, const Aval& aval) {
    return static_cast<std::int64_t>(item_size(aval.dtype())) * result.lanes;
  }
  const Aval& result_aval(std::size_t r) const { return graph_.aval(graph_.outputs()[r]); }

  /// Where a result stays in the frame.
  Place staying(const Result& result, const Aval& aval, const BufferOwner& frame, Pointer begin) {
    const std::int64_t offset = result.at / bytes_of(result, aval);
    Place place = outer_.allocate_in(frame, begin, offset, aval, result.lanes).place();
    place.between_calls = true;
    return place;
  }

  Lowering::SharedFunction& function() {
    auto& known = lowering_.shared_functions[key_];
    const auto found = std::ranges::find_if(
        known, [&](const auto& f) { return f.graph.get() == &graph_ || f.graph->same_as(graph_); });
    if (found != known.end()) return *found;
    const Type status[] = {{Dtype::I32, 1}};
    Lowering::SharedFunction made{GraphRef(&graph_), e_.params.as<CallParams>().name,
                                  b_.declare("function", types_, status)};
    b_.begin(made.function);
    lowering_.begin_function(b_.pointer_parameter(0));
    write_function();
    made.may_fail = lowering_.may_fail();
    made.scratch_bytes = lowering_.end_function();
    b_.end();
    // Others may have been written meanwhile.
    return lowering_.shared_functions[key_].emplace_back(std::move(made));
  }

  void write_function() {
    const Pointer frame = b_.pointer_parameter(1);
    int next = 2;
    std::vector<Place> operands;
    std::map<void*, Pointer> frames;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      Place& place = operands.emplace_back(operands_[i]);
      place.buffer = {};
      place.kept = {};
      for (Value& v : place.elements) v = b_.parameter(next++);
      if (place.kind != Place::Kind::Memory) continue;
      if (!place.between_calls) {
        place.base = b_.pointer_parameter(next++);
        continue;
      }
      Pointer& known = frames[place.base.handle];
      if (!known.handle) known = b_.pointer_parameter(next++);
      place.base = known;
    }
    std::vector<Place> targets(results_.size());
    for (std::size_t r = 0; r < results_.size(); ++r) {
      const Result& result = results_[r];
      if (!result.in_frame) {
        targets[r] = result.made;
        targets[r].buffer = {};
        targets[r].view.offset = 0;
        targets[r].base = b_.pointer_parameter(next++);
      } else if (!outer_.in_registers(result_aval(r))) {
        targets[r].kind = Place::Kind::Memory;
        targets[r].lanes = result.lanes;
        targets[r].view = View::contiguous(result_aval(r).shape());
        targets[r].base = b_.offset(frame, result.at);
      }
    }
    const Value mask = outer_.mask().handle ? b_.parameter(next) : Value{};
    Region inner(lowering_, graph_, outer_.lanes(), mask);
    for (std::size_t i = 0; i < operands.size(); ++i)
      inner.bind_input(static_cast<ValueId>(i), std::move(operands[i]));
    for (std::size_t r = 0; r < targets.size(); ++r) {
      if (targets[r].kind == Place::Kind::None) continue;
      targets[r].kept = mask;
      inner.hint_output(r, targets[r]);
    }
    inner.run();
    Lowering::Pieces written(lowering_);
    for (std::size_t r = 0; r < targets.size(); ++r) {
      written.next();
      if (targets[r].kind == Place::Kind::None)
        store(inner, r, frame);
      else
        inner.write_output(r, targets[r]);
    }
    written.end();
    b_.set_lanes(1);
    const Value ok = b_.constant(Dtype::I32, static_cast<std::uint64_t>(Status::Ok));
    b_.return_values({&ok, 1});
  }

  /// In the function: a result that its caller gets in registers.
  void store(Region& inner, std::size_t r, Pointer frame) {
    const Aval& aval = result_aval(r);
    const Result& result = results_[r];
    std::int64_t at = result.at;
    for (Value v : inner.registers(inner.output(r), aval)) {
      b_.set_lanes(result.lanes);
      b_.store(b_.offset(frame, at), result.lanes > b_.lanes_of(v) ? b_.splat(v) : v);
      at += bytes_of(result, aval);
    }
  }

  /// After the call.
  void define(std::uint32_t r, Pointer frame) {
    const ValueId v = e_.first_result + r;
    Result& result = results_[r];
    if (result.stays) return outer_.define_between_calls(v, std::move(result.made));
    if (result.in_frame) {
      const Aval& aval = result_aval(r);
      result.made.kind = Place::Kind::Registers;
      b_.set_lanes(result.lanes);
      for (std::int64_t k = 0; k < aval.size(); ++k)
        result.made.elements.push_back(
            b_.load(b_.offset(frame, result.at + k * bytes_of(result, aval)), aval.dtype()));
    }
    outer_.define(v, std::move(result.made));
  }

  /// The same context with other scratch memory.
  Pointer context_with(Pointer memory) {
    b_.copy_bytes(memory, lowering_.context(), b_.index(sizeof(CallContext)));
    b_.store_pointer(b_.offset(memory, offsetof(CallContext, scratch)), b_.offset(memory, scratch_begins));
    return memory;
  }

  Region& outer_;
  Lowering& lowering_;
  Builder& b_;
  const Eqn& e_;
  const Graph& graph_;
  const SharedCalls::Common& common_;
  std::string key_;  // what a function is written for, beside its graph
  std::vector<Type> types_;
  std::vector<Operand> arguments_;
  std::size_t frame_parameter_ = 0;
  std::vector<Place> operands_;
  std::map<void*, std::int64_t> frames_;  // of other calls, in the order in which they are passed
  std::vector<Result> results_;
  std::int64_t frame_bytes_ = 0;
};

}  // namespace

void emit_call(Region& region, const Eqn& e) {
  if (region.lowering().shared_calls.contains(*e.params.as<CallParams>().region))
    FunctionCall(region, e).write();
  else
    write_in_place(region, e);
}

}  // namespace apsis::detail
