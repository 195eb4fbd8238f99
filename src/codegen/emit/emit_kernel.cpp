// Ops without a lowering of their own: the evaluator's kernel is called on contiguous buffers.

#include <algorithm>

#include "codegen/emit/equations.hpp"
#include "codegen/plan/in_place.hpp"
#include "core/messages.hpp"
#include "ir/effects.hpp"

namespace apsis::detail {

/// The number of a kernel that evaluates the equation.
std::int64_t add_kernel(Region& region, const Eqn& e) {
  if (!e.op->evaluate) fail(messages::no_evaluate, {e.op->name}, e.loc);
  Kernel kernel{e.op, e.params, {}, {}};
  for (ValueId v : region.operands(e)) {
    APSIS_ASSERT(!region.aval(v).is_list());
    kernel.in.push_back(region.aval(v));
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) kernel.out.push_back(region.aval(e.first_result + r));
  region.lowering().kernels.push_back(std::move(kernel));
  return static_cast<std::int64_t>(region.lowering().kernels.size()) - 1;
}

void call_kernel(Region& region, std::int64_t number, const Eqn& e, std::span<const Place> in,
                 std::span<const Destination> out) {
  Builder& b = region.b();
  b.set_lanes(1);
  Pointer pointers = b.stack((in.size() + out.size()) * sizeof(void*));
  std::int64_t slot = 0;
  auto operands = region.operands(e);
  auto pass = [&](const Place& place, const Aval& aval) {
    const ConstPointer p = b.offset(place.base, place.view.offset * region.bytes_of(place, aval.dtype()));
    b.store_pointer(b.offset(pointers, slot++ * static_cast<std::int64_t>(sizeof(void*))), p);
  };
  for (std::size_t i = 0; i < in.size(); ++i) pass(in[i], region.aval(operands[i]));
  for (std::uint32_t r = 0; r < out.size(); ++r) pass(out[r].place(), region.aval(e.first_result + r));
  const Operand arguments[] = {region.lowering().context(), b.index(number), pointers};
  region.lowering().check(b.call_runtime("apsis_call_kernel", Dtype::I32, arguments));
}

namespace {

/// One call an active lane, on copies of its elements.
void call_kernel_lanes(Region& region, const Eqn& e, std::int64_t number) {
  Builder& b = region.b();
  auto operands = region.operands(e);
  std::vector<Place> in, in_lane;
  std::vector<Destination> out, out_lane;
  for (ValueId v : operands) {
    in.push_back(region.in_memory(v));
    in_lane.push_back(in.back().lanes == 1 ? region.contiguous(in.back(), region.aval(v))
                                           : region.allocate(region.aval(v), 1).place());
  }
  for (std::uint32_t r = 0; r < e.result_count; ++r) {
    out.push_back(region.destination(e.first_result + r, region.lanes()));
    out_lane.push_back(region.allocate(region.aval(e.first_result + r), 1));
  }
  const auto call_one = [&](Value lane) {
    if (e.op->kind == OpKind::Effect)
      b.store(b.offset(region.lowering().context(), offsetof(CallContext, slot)), lane);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Aval& aval = region.aval(operands[i]);
      if (in[i].lanes > 1) region.copy(region.of_lane(in[i], aval, lane), aval, region.overwrite(in_lane[i]));
    }
    call_kernel(region, number, e, in_lane, out_lane);
    for (std::uint32_t r = 0; r < e.result_count; ++r) {
      const Aval& aval = region.aval(e.first_result + r);
      region.copy(out_lane[r].place(), aval, region.of_lane(out[r], aval, lane));
    }
  };
  b.set_lanes(1);
  CountedLoop loop(b, region.lanes(), 1);
  if (region.mask().handle)
    if_(b, b.extract(region.mask(), loop.index()), [&] { call_one(loop.index()); });
  else
    call_one(loop.index());
  loop.close();
  for (std::uint32_t r = 0; r < e.result_count; ++r) region.define(e.first_result + r, out[r].place());
}

}  // namespace

void emit_kernel(Region& region, const Eqn& e) {
  auto operands = region.operands(e);
  int lanes = 1;
  for (ValueId v : operands) lanes = std::max(lanes, region.lanes_of(v));
  const std::int64_t number = add_kernel(region, e);
  if (lanes > 1 || (region.lanes() > 1 && e.op->kind == OpKind::Effect))
    return call_kernel_lanes(region, e, number);

  std::vector<Place> in;
  std::vector<Destination> out;
  std::optional<Destination> over;
  if (kernel_overwrites(e) && region.uses(operands[0]) == 1)
    over = region.instead_of(operands[0], e.first_result);
  for (ValueId v : operands) in.push_back(region.contiguous(v));
  for (std::uint32_t r = 0; r < e.result_count; ++r)
    out.push_back(over ? *over : region.destination(e.first_result + r, 1));
  call_kernel(region, number, e, in, out);
  for (std::uint32_t r = 0; r < e.result_count; ++r) region.define(e.first_result + r, out[r].place());
}

/// One test; where it fails the op is called, which throws, and the program is left: no value needs to
/// outlive the call.
void emit_raise_when(Region& region, const Eqn& e) {
  Builder& b = region.b();
  Value failed = region.registers(region.operands(e)[0])[0];
  if (const int lanes = b.lanes_of(failed); lanes > 1) {
    b.set_lanes(lanes);
    if (region.mask().handle) failed = b.bit_and(failed, region.mask());
    failed = b.any(failed);
  }
  b.set_lanes(1);
  const auto raise = [&] {
    emit_kernel(region, e);
    region.lowering().fail(Status::Failed);
  };
  if_(b, failed, raise, Likely::False);
}

/// The program goes on after a comparison, or two; only where a report may be due is the op called.
void emit_progress(Region& region, const Eqn& e) {
  Builder& b = region.b();
  const auto& p = e.params.as<ProgressParams>();
  const auto operands = region.operands(e);
  const std::int64_t number = add_kernel(region, e);
  region.lowering().kernels.back().skipped_steps = &p.meter->skipped_steps;
  const Value steps = region.registers(operands[0])[0];
  const int lanes = b.lanes_of(steps);
  const auto wide = [&](Value scalar) { return lanes > 1 ? b.splat(scalar) : scalar; };
  const auto none_of = [&](Value v) { return b.compare(Compare::Eq, v, wide(b.index(0))); };
  Value due;
  b.set_lanes(1);
  if (p.timed) {
    const Pointer kernels =
        b.load_pointer(b.offset(region.lowering().context(), offsetof(CallContext, kernels)));
    const Pointer meter = b.load_pointer(b.offset(
        kernels, number * static_cast<std::int64_t>(sizeof(Kernel)) + offsetof(Kernel, skipped_steps)));
    const Value skipped = b.load_relaxed(meter, Dtype::I64);
    b.set_lanes(lanes);
    due = none_of(b.bit_and(steps, wide(skipped)));
  }
  b.set_lanes(lanes);
  if (p.every_steps > 0) {
    const Value counted = none_of(b.integer_rem(steps, wide(b.index(p.every_steps))));
    due = due.handle ? b.bit_or(due, counted) : counted;
  }
  // The first lane at work speaks for the packet.
  Value first = b.index(0);
  if (region.lanes() > 1 && region.mask().handle) {
    const Value working = b.mask_bits(region.mask()), lowest = b.bit_and(working, b.sub(b.index(0), working));
    first = b.trailing_zeros(working);
    const Value both = lanes > 1 ? b.bit_and(b.mask_bits(due), lowest) : lowest;
    const Value of_first = b.compare(Compare::Ne, both, b.index(0));
    due = lanes > 1 ? of_first : b.bit_and(due, of_first);
  } else if (lanes > 1) {
    due = b.extract(due, 0);
  }
  b.set_lanes(1);
  const auto report = [&] {
    if (region.lanes() > 1)
      b.store(b.offset(region.lowering().context(), offsetof(CallContext, slot)), first);
    std::vector<Place> in;
    for (ValueId v : operands) {
      Value element = region.registers(v)[0];
      if (b.lanes_of(element) > 1) element = b.extract(element, first);
      Place place;
      place.kind = Place::Kind::Registers;
      place.elements = {element};
      in.push_back(region.contiguous(place, region.aval(v)));
    }
    call_kernel(region, number, e, in, {});
  };
  if_(b, due, report, Likely::False);
}

}  // namespace apsis::detail
