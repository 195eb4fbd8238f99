#include "codegen/emit/lowering.hpp"

#include <algorithm>
#include <utility>

namespace apsis::detail {

void Lowering::enter(Pointer context) {
  context_ = context;
  failure_ = {};
  scratch_ = b.divisible(context, offsetof(CallContext, scratch), arena);
  cancel_ = b.load_pointer(b.offset(context, offsetof(CallContext, cancel)));
}

void Lowering::begin_function(Pointer context) {
  outer_.push_back({std::move(arena), repeated, in_loops, context_, scratch_, cancel_, failure_});
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
    lowering_.failures_.push_back(std::exchange(lowering_.failure_, {}));
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
  const Value ok = lowering_.status_value(Status::Ok);
  b.return_values({&ok, 1});
  const Value status = b.end_part();
  lowering_.failure_ = lowering_.failures_.back();
  lowering_.failures_.pop_back();
  lowering_.check(status);
  b.set_lanes(lanes);
  b.next_piece();
}

std::string Lowering::told_functions() const {
  std::vector<std::string> lines;
  for (const auto& [key, functions] : shared_functions)
    for (const SharedFunction& f : functions)
      lines.push_back("   compiled once for " + std::to_string(f.calls) + " places: " + f.name + ", of " +
                      std::to_string(f.graph->eqns().size()) + " equations\n");
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

BufferOwner Lowering::allocate(std::int64_t bytes) {
  auto buffer = std::make_shared<Buffer>();
  buffer->arena = &arena;
  buffer->bytes = bytes;
  buffer->offset = arena.allocate(bytes);
  buffer->writable = true;
  return buffer;
}

void Lowering::check(Value status) {
  b.set_lanes(1);
  failure_.leave_if(b, b.compare(Compare::Ne, status, b.constant(Dtype::I32, 0)), status);
}

Pointer Lowering::make(const char* symbol, std::span<const Operand> arguments) {
  const Pointer made = b.call_runtime_pointer(symbol, arguments);
  fail_if(b.is_null(made), Status::Failed);
  return made;
}

void Lowering::fail(Status status) {
  b.set_lanes(1);
  failure_.leave(b, status_value(status));
}

void Lowering::fail_if(Value condition, Status status) {
  b.set_lanes(1);
  failure_.leave_if(b, condition, status_value(status));
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
