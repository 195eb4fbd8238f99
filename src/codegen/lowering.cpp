#include "codegen/lowering.hpp"

#include <algorithm>

namespace apsis::detail {

void Lowering::enter(Pointer context) {
  context_ = context;
  failure_ = {};
  scratch_ = b.load_pointer(b.offset(context, offsetof(CallContext, scratch)));
  cancel_ = b.load_pointer(b.offset(context, offsetof(CallContext, cancel)));
}

void Lowering::begin_function(Pointer context) {
  outer_.push_back({std::move(arena), context_, scratch_, cancel_, failure_, failure_status_});
  arena = {};
  enter(context);
}

std::int64_t Lowering::end_function() {
  const std::int64_t bytes = arena.peak();
  Outer& outer = outer_.back();
  arena = std::move(outer.arena);
  context_ = outer.context;
  scratch_ = outer.scratch;
  cancel_ = outer.cancel;
  failure_ = outer.failure;
  failure_status_ = outer.failure_status;
  outer_.pop_back();
  return bytes;
}

BufferRef Lowering::allocate(std::int64_t bytes) {
  auto buffer = std::make_shared<Buffer>();
  buffer->arena = &arena;
  buffer->bytes = bytes;
  buffer->offset = arena.allocate(bytes);
  buffer->writable = true;
  return buffer;
}

Block Lowering::failure() {
  if (!failure_.handle) {
    Block here = b.position();
    int lanes = b.lanes();
    failure_ = b.make_block("failure");
    b.set_position(failure_);
    b.set_lanes(1);
    failure_status_ = b.phi(Dtype::I32);
    b.return_values({&failure_status_, 1});
    b.set_position(here);
    b.set_lanes(lanes);
  }
  return failure_;
}

void Lowering::check(Value status) {
  b.set_lanes(1);
  Block to = failure(), go_on = b.make_block("ok");
  Value bad = b.compare(Compare::Ne, status, b.constant(Dtype::I32, 0));
  b.add_incoming(failure_status_, status, b.position());
  b.branch(bad, to, go_on, Likely::False);
  b.set_position(go_on);
}

Pointer Lowering::make(const char* symbol, std::span<const Operand> arguments) {
  const Pointer made = b.call_runtime_pointer(symbol, arguments);
  fail_if(b.is_null(made), Status::Failed);
  return made;
}

void Lowering::fail(Status status) {
  b.set_lanes(1);
  Block to = failure();
  b.add_incoming(failure_status_, b.constant(Dtype::I32, static_cast<std::uint64_t>(status)), b.position());
  b.jump(to);
}

void Lowering::fail_if(Value condition, Status status) {
  b.set_lanes(1);
  Block to = failure(), go_on = b.make_block("ok");
  b.add_incoming(failure_status_, b.constant(Dtype::I32, static_cast<std::uint64_t>(status)), b.position());
  b.branch(condition, to, go_on, Likely::False);
  b.set_position(go_on);
}

void Lowering::poll() {
  b.set_lanes(1);
  Value flag = b.load_relaxed(cancel_, Dtype::U32);
  fail_if(b.compare(Compare::Ne, flag, b.constant(Dtype::U32, 0)), Status::Cancelled);
}

int Lowering::vector_lanes(std::size_t item_bytes) const {
  if (options_.vector_lanes > 0) return options_.vector_lanes;
  return std::max(1, b.vector_bytes() / static_cast<int>(item_bytes));
}

}  // namespace apsis::detail
