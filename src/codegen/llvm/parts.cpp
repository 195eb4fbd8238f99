// Functions in parts. What one part makes and another reads goes through memory: it is stored where it is
// made, and loaded once in each part that reads it. Nobody who writes code has to know: operands are looked
// up as they are used.

#include <algorithm>
#include <bit>

#include "apsis/base/error.hpp"
#include "codegen/llvm/llvm_builder.hpp"

namespace apsis::detail {

using Value = LlvmBuilder::Value;

namespace {

constexpr std::int64_t page_bytes = 4096, widest_alignment = 64;

LLVMValueRef function_of(LLVMValueRef v) {
  if (LLVMIsAInstruction(v)) return LLVMGetBasicBlockParent(LLVMGetInstructionParent(v));
  return LLVMIsAArgument(v) ? LLVMGetParamParent(v) : nullptr;
}

std::int64_t bytes_of(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
      return LLVMGetIntTypeWidth(type) / 8;
    case LLVMFloatTypeKind:
      return 4;
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind:
      return 8;
    case LLVMVectorTypeKind:
      return LLVMGetVectorSize(type) * bytes_of(LLVMGetElementType(type));
    default:
      throw InternalError("a value that parts of a function share has a type that memory does not hold");
  }
}

}  // namespace

Pointer LlvmBuilder::divisible(Pointer context, std::int64_t scratch_field, Arena& memory) {
  Divided& whole = divided_.emplace_back();
  whole.scratch_field = scratch_field;
  whole.memory = &memory;
  Part& first = whole.parts.emplace_back();
  first.whole = &whole;
  first.function = frames_.back().function->value;
  first.context = ref(context);
  const Pointer scratch = load_pointer(offset(context, scratch_field));
  first.scratch = ref(scratch);
  whole.by_function.emplace(first.function, &first);
  frames_.back().part = &first;
  return scratch;
}

std::int64_t LlvmBuilder::written() const { return frames_.back().part ? frames_.back().operands : 0; }

void LlvmBuilder::begin_part() {
  Part& outer = *frames_.back().part;
  Divided& whole = *outer.whole;
  const Type parameters[] = {pointer_type}, results[] = {{Dtype::I32, 1}};
  const Function f = declare("part", parameters, results, false);
  Part& part = whole.parts.emplace_back();
  part.whole = &whole;
  part.parent = &outer;
  part.function = info(f).value;
  part.call = LLVMBuildCall2(ir_, info(f).type, part.function, &outer.context, 1, "");
  part.called = ++time_;
  whole.by_function.emplace(part.function, &part);
  const int lanes = lanes_;
  begin(f);
  lanes_ = lanes;
  Frame& frame = frames_.back();
  frame.part = &part;
  LLVMPositionBuilderAtEnd(ir_, frame.slots);
  part.context = LLVMGetParam(part.function, 0);
  part.scratch = ref(load_pointer(offset(Pointer{part.context}, whole.scratch_field)));
  LLVMPositionBuilderAtEnd(ir_, frame.body);
}

Value LlvmBuilder::end_part() {
  const Part& part = *frames_.back().part;
  APSIS_ASSERT(part.parent);
  end();
  return {part.call, Dtype::I32};
}

LLVMValueRef LlvmBuilder::local(LLVMValueRef v) {
  Frame& frame = frames_.back();
  ++frame.operands;
  if (!frame.part || frame.part->whole->parts.size() == 1) return v;
  LLVMValueRef function = function_of(v);
  return !function || function == frame.function->value ? v : brought(v, function);
}

void LlvmBuilder::open_pieces() {
  Frame& frame = frames_.back();
  frame.pieces.push_back({current(), LLVMGetLastInstruction(current()), ++time_, frame.brought.size()});
}

void LlvmBuilder::next_piece() {
  Pieces& pieces = frames_.back().pieces.back();
  pieces.block = current();
  pieces.before = LLVMGetLastInstruction(pieces.block);
  pieces.at = ++time_;
}

void LlvmBuilder::close_pieces() {
  Frame& frame = frames_.back();
  for (std::size_t i = frame.pieces.back().known; i < frame.brought.size(); ++i)
    frame.part->known.erase(frame.brought[i]);
  frame.brought.resize(frame.pieces.back().known);
  frame.pieces.pop_back();
}

LLVMValueRef LlvmBuilder::brought(LLVMValueRef v, LLVMValueRef function) {
  Part& here = *frames_.back().part;
  if (const auto known = here.known.find(v); known != here.known.end()) return known->second;
  Divided& whole = *here.whole;
  const auto found = whole.by_function.find(function);
  APSIS_ASSERT(found != whole.by_function.end());
  const Part& maker = *found->second;
  if (v == maker.context) return here.context;
  if (v == maker.scratch) return here.scratch;
  // A part's own frame is gone when it returns.
  APSIS_ASSERT(!LLVMIsAAllocaInst(v) || is_within(here, maker));

  LLVMBasicBlockRef position = current();
  LLVMValueRef made = nullptr;
  if (LLVMIsAGetElementPtrInst(v) && LLVMGetOperand(v, 0) == maker.scratch &&
      LLVMIsConstant(LLVMGetOperand(v, 1))) {
    position_to_bring(here, maker);
    LLVMValueRef bytes = LLVMGetOperand(v, 1);
    made = LLVMBuildGEP2(ir_, i8_, here.scratch, &bytes, 1, "");
  } else {
    const std::int64_t slot = slot_of(v, maker);
    position_to_bring(here, maker);
    LLVMTypeRef type = LLVMTypeOf(v), stored = is_bool_type(type) ? as_bytes(type) : type;
    made = LLVMBuildLoad2(ir_, stored, address_in(here, slot), "");
    LLVMSetAlignment(made, alignment_of(stored));
    if (stored != type) made = LLVMBuildICmp(ir_, LLVMIntNE, made, LLVMConstNull(stored), "");
  }
  LLVMPositionBuilderAtEnd(ir_, position);
  here.known.emplace(v, made);
  frames_.back().brought.push_back(v);
  return made;
}

/// As late as everybody passes who may read it in this region: at the start of the piece being written, but
/// after the call of the part that made it.
void LlvmBuilder::position_to_bring(const Part& here, const Part& maker) {
  const Frame& frame = frames_.back();
  const Part* called = &maker;
  while (called && called->parent != &here) called = called->parent;
  if (called && (frame.pieces.empty() || called->called > frame.pieces.back().at))
    position_after(LLVMGetInstructionParent(called->call), called->call);
  else if (frame.pieces.empty())
    LLVMPositionBuilderAtEnd(ir_, frame.slots);
  else
    position_after(frame.pieces.back().block, frame.pieces.back().before);
}

bool LlvmBuilder::is_within(const Part& part, const Part& outer) {
  for (const Part* p = &part; p; p = p->parent)
    if (p == &outer) return true;
  return false;
}

void LlvmBuilder::position_after(LLVMBasicBlockRef block, LLVMValueRef instruction) {
  LLVMValueRef next = instruction ? LLVMGetNextInstruction(instruction) : LLVMGetFirstInstruction(block);
  while (next && LLVMIsAPHINode(next)) next = LLVMGetNextInstruction(next);
  if (next)
    LLVMPositionBuilderBefore(ir_, next);
  else
    LLVMPositionBuilderAtEnd(ir_, block);
}

bool LlvmBuilder::is_bool_type(LLVMTypeRef type) const {
  return (LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type) == i1_;
}
LLVMTypeRef LlvmBuilder::as_bytes(LLVMTypeRef type) const {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMVectorType(i8_, LLVMGetVectorSize(type)) : i8_;
}

unsigned LlvmBuilder::alignment_of(LLVMTypeRef type) {
  return static_cast<unsigned>(
      std::min(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes_of(type)))),
               widest_alignment));
}

LLVMValueRef LlvmBuilder::address_in(const Part& part, std::int64_t slot) {
  LLVMValueRef bytes = LLVMConstInt(i64_, static_cast<std::uint64_t>(slot), false);
  return LLVMBuildGEP2(ir_, i8_, part.scratch, &bytes, 1, "");
}

/// Where in the scratch memory a value is kept; stores it there where it is made.
std::int64_t LlvmBuilder::slot_of(LLVMValueRef v, const Part& maker) {
  Divided& whole = *maker.whole;
  const auto [found, fresh] = whole.slots.try_emplace(v, 0);
  if (!fresh) return found->second;
  LLVMTypeRef type = LLVMTypeOf(v);
  const bool is_bool = is_bool_type(type);
  LLVMTypeRef stored = is_bool ? as_bytes(type) : type;
  const std::int64_t align = alignment_of(stored), bytes = (bytes_of(stored) + align - 1) / align * align;
  whole.next = (whole.next + align - 1) / align * align;
  if (whole.next + bytes > whole.end) {
    const std::int64_t page = std::max(page_bytes, bytes);
    whole.next = whole.memory->allocate_fresh(page);
    whole.end = whole.next + page;
  }
  const std::int64_t slot = found->second = whole.next;
  whole.next += bytes;
  // Parameters and the frame's memory are there before the scratch memory is.
  LLVMValueRef after = LLVMIsAArgument(v) || LLVMIsAAllocaInst(v) ? maker.scratch : v;
  position_after(LLVMGetInstructionParent(after), after);
  LLVMValueRef kept = is_bool ? LLVMBuildZExt(ir_, v, stored, "") : v;
  LLVMSetAlignment(LLVMBuildStore(ir_, kept, address_in(maker, slot)), alignment_of(stored));
  return slot;
}

}  // namespace apsis::detail
