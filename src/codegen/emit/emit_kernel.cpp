// Ops without a lowering of their own: the evaluator's kernel is called on contiguous buffers.

#include <algorithm>

#include "codegen/emit/region.hpp"
#include "core/messages.hpp"
#include "ir/effects.hpp"

namespace apsis::detail {

/// The number of a kernel that evaluates the equation.
std::int64_t Region::add_kernel(const Eqn& e) {
  if (!e.op->evaluate) fail(messages::no_evaluate, {e.op->name}, e.loc);
  Kernel kernel{e.op, e.params, {}, {}};
  for (ValueId v : graph_.operands(e)) {
    APSIS_ASSERT(!graph_.aval(v).is_list());
    kernel.in.push_back(graph_.aval(v));
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) kernel.out.push_back(graph_.aval(e.first_result + r));
  lowering_.kernels.push_back(std::move(kernel));
  return static_cast<std::int64_t>(lowering_.kernels.size()) - 1;
}

void Region::emit_kernel(const Eqn& e) {
  auto operands = graph_.operands(e);
  int lanes = 1;
  for (ValueId v : operands) lanes = std::max(lanes, lanes_of(places_[v]));
  const std::int64_t number = add_kernel(e);
  if (lanes > 1 || (lanes_ > 1 && e.op->kind == OpKind::Effect)) return call_kernel_lanes(e, number);

  std::vector<Place> in;
  std::vector<Destination> out;
  for (ValueId v : operands) in.push_back(contiguous(places_[v], graph_.aval(v)));
  for (std::uint32_t r = 0; r < e.result_count; ++r) out.push_back(destination(e.first_result + r, 1));
  call_kernel(number, e, in, out);
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    if (in_registers(graph_.aval(e.first_result + r)))
      define_loaded(e.first_result + r, out[r].place());
    else
      define(e.first_result + r, out[r].place());
  }
}

void Region::call_kernel(std::int64_t number, const Eqn& e, std::span<const Place> in,
                         std::span<const Destination> out) {
  b_.set_lanes(1);
  Pointer pointers = b_.stack((in.size() + out.size()) * sizeof(void*));
  std::int64_t slot = 0;
  auto operands = graph_.operands(e);
  auto pass = [&](const Place& place, const Aval& aval) {
    const ConstPointer p = b_.offset(place.base, place.view.offset * bytes_of(place, aval.dtype()));
    b_.store_pointer(b_.offset(pointers, slot++ * static_cast<std::int64_t>(sizeof(void*))), p);
  };
  for (std::size_t i = 0; i < in.size(); ++i) pass(in[i], graph_.aval(operands[i]));
  for (std::uint32_t r = 0; r < out.size(); ++r) pass(out[r].place(), graph_.aval(e.first_result + r));
  const Operand arguments[] = {lowering_.context(), b_.index(number), pointers};
  lowering_.check(b_.call_runtime("apsis_call_kernel", Dtype::I32, arguments));
}

/// One call an active lane, on copies of its elements.
void Region::call_kernel_lanes(const Eqn& e, std::int64_t number) {
  auto operands = graph_.operands(e);
  std::vector<Place> in, in_lane;
  std::vector<Destination> out, out_lane;
  for (ValueId v : operands) {
    in.push_back(in_memory(places_[v], graph_.aval(v)));
    in_lane.push_back(in.back().lanes == 1 ? contiguous(in.back(), graph_.aval(v))
                                           : allocate(graph_.aval(v), 1).place());
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    out.push_back(destination(e.first_result + r, lanes_));
    out_lane.push_back(allocate(graph_.aval(e.first_result + r), 1));
  }
  const auto call_one = [&](Value lane) {
    if (e.op->kind == OpKind::Effect)
      b_.store(b_.offset(lowering_.context(), offsetof(CallContext, slot)), lane);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Aval& aval = graph_.aval(operands[i]);
      if (in[i].lanes > 1) copy(of_lane(in[i], aval, lane), aval, overwrite(in_lane[i]));
    }
    call_kernel(number, e, in_lane, out_lane);
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      const Aval& aval = graph_.aval(e.first_result + r);
      copy(out_lane[r].place(), aval, of_lane(out[r], aval, lane));
    }
  };
  b_.set_lanes(1);
  CountedLoop loop(b_, lanes_, 1);
  if (mask_.handle)
    if_(b_, b_.extract(mask_, loop.index()), [&] { call_one(loop.index()); });
  else
    call_one(loop.index());
  loop.close();
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    if (in_registers(graph_.aval(e.first_result + r)))
      define_loaded(e.first_result + r, out[r].place());
    else
      define(e.first_result + r, out[r].place());
  }
}

/// One test; where it fails the op is called, which throws, and the program is left: no value needs to
/// outlive the call.
void Region::emit_raise_when(const Eqn& e) {
  Value failed = registers(places_[graph_.operands(e)[0]], Aval(Dtype::Bool, {}))[0];
  if (const int lanes = b_.lanes_of(failed); lanes > 1) {
    b_.set_lanes(lanes);
    if (mask_.handle) failed = b_.bit_and(failed, mask_);
    failed = b_.any(failed);
  }
  b_.set_lanes(1);
  const auto raise = [&] {
    emit_kernel(e);
    lowering_.fail(Status::Failed);
  };
  if_(b_, failed, raise, Likely::False);
}

/// The program goes on after a comparison, or two; only where a report may be due is the op called.
void Region::emit_progress(const Eqn& e) {
  const auto& p = e.params.as<ProgressParams>();
  const auto operands = graph_.operands(e);
  const std::int64_t number = add_kernel(e);
  lowering_.kernels.back().skipped_steps = &p.meter->skipped_steps;
  const Value steps = registers(places_[operands[0]], graph_.aval(operands[0]))[0];
  const int lanes = b_.lanes_of(steps);
  const auto wide = [&](Value scalar) { return lanes > 1 ? b_.splat(scalar) : scalar; };
  const auto none_of = [&](Value v) { return b_.compare(Compare::Eq, v, wide(b_.index(0))); };
  Value due;
  b_.set_lanes(1);
  if (p.timed) {
    const Pointer kernels = b_.load_pointer(b_.offset(lowering_.context(), offsetof(CallContext, kernels)));
    const Pointer meter = b_.load_pointer(b_.offset(
        kernels, number * static_cast<std::int64_t>(sizeof(Kernel)) + offsetof(Kernel, skipped_steps)));
    const Value skipped = b_.load_relaxed(meter, Dtype::I64);
    b_.set_lanes(lanes);
    due = none_of(b_.bit_and(steps, wide(skipped)));
  }
  b_.set_lanes(lanes);
  if (p.every_steps > 0) {
    const Value counted = none_of(b_.integer_rem(steps, wide(b_.index(p.every_steps))));
    due = due.handle ? b_.bit_or(due, counted) : counted;
  }
  // The first lane at work speaks for the packet.
  Value first = b_.index(0);
  if (lanes_ > 1 && mask_.handle) {
    const Value working = b_.mask_bits(mask_), lowest = b_.bit_and(working, b_.sub(b_.index(0), working));
    first = b_.trailing_zeros(working);
    const Value both = lanes > 1 ? b_.bit_and(b_.mask_bits(due), lowest) : lowest;
    const Value of_first = b_.compare(Compare::Ne, both, b_.index(0));
    due = lanes > 1 ? of_first : b_.bit_and(due, of_first);
  } else if (lanes > 1) {
    due = b_.extract(due, 0);
  }
  b_.set_lanes(1);
  const auto report = [&] {
    if (lanes_ > 1) b_.store(b_.offset(lowering_.context(), offsetof(CallContext, slot)), first);
    std::vector<Place> in;
    for (ValueId v : operands) {
      Value element = registers(places_[v], graph_.aval(v))[0];
      if (b_.lanes_of(element) > 1) element = b_.extract(element, first);
      Place place;
      place.kind = Place::Kind::Registers;
      place.elements = {element};
      in.push_back(contiguous(place, graph_.aval(v)));
    }
    call_kernel(number, e, in, {});
  };
  if_(b_, due, report, Likely::False);
}

}  // namespace apsis::detail
