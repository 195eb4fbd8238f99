#include "codegen/emit/lowering.hpp"

#include <algorithm>

namespace apsis::detail {

void Lowering::enter(Pointer context) {
  context_ = context;
  failure_ = {};
  scratch_ = b.divisible(context, offsetof(CallContext, scratch), arena);
  cancel_ = b.load_pointer(b.offset(context, offsetof(CallContext, cancel)));
}

void Lowering::begin_function(Pointer context) {
  outer_.push_back(
      {std::move(arena), repeated, in_loops, context_, scratch_, cancel_, failure_, failure_status_});
  arena = {};
  repeated = true;
  enter(context);
}

std::int64_t Lowering::end_function() {
  const std::int64_t bytes = arena.peak();
  Outer& outer = outer_.back();
  arena = std::move(outer.arena);
  repeated = outer.repeated;
  in_loops = outer.in_loops;
  context_ = outer.context;
  scratch_ = outer.scratch;
  cancel_ = outer.cancel;
  failure_ = outer.failure;
  failure_status_ = outer.failure_status;
  outer_.pop_back();
  return bytes;
}

bool Lowering::Pieces::is_long() const {
  const LoweringOptions& options = lowering_.options_;
  const std::int64_t written = lowering_.b.written() - start_,
                     apart = written - (lowering_.in_loops - start_in_loops_);
  if (lowering_.repeated && !in_part_) return written >= options.longest_repeated;
  return apart >= options.longest_part || written >= options.longest_repeated;
}

void Lowering::Pieces::next() {
  Builder& b = lowering_.b;
  if (is_long()) {
    join();
    b.begin_part();
    start_ = b.written();
    start_in_loops_ = lowering_.in_loops;
    b.open_pieces();
    lowering_.failures_.push_back({lowering_.failure_, lowering_.failure_status_});
    lowering_.failure_ = {};
    in_part_ = true;
  }
  b.next_piece();
}

void Lowering::Pieces::end() {
  join();
  lowering_.b.close_pieces();
}

void Lowering::Pieces::join() {
  if (!in_part_) return;
  in_part_ = false;
  Builder& b = lowering_.b;
  const int lanes = b.lanes();
  b.close_pieces();
  b.set_lanes(1);
  const Value ok = b.constant(Dtype::I32, static_cast<std::uint64_t>(Status::Ok));
  b.return_values({&ok, 1});
  const Value status = b.end_part();
  lowering_.failure_ = lowering_.failures_.back().block;
  lowering_.failure_status_ = lowering_.failures_.back().status;
  lowering_.failures_.pop_back();
  lowering_.check(status);
  b.set_lanes(lanes);
  b.next_piece();
}

BufferOwner Lowering::allocate(std::int64_t bytes) {
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
