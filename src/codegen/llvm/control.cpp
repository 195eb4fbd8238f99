// Blocks, jumps and phis.

#include "apsis/base/error.hpp"
#include "codegen/llvm/llvm_builder.hpp"

namespace apsis::detail {

using Value = LlvmBuilder::Value;

Block LlvmBuilder::make_block(const char* name) {
  APSIS_ASSERT(!frames_.empty());
  return {LLVMAppendBasicBlockInContext(context_, frames_.back().function->value, name)};
}
void LlvmBuilder::set_position(Block block) { LLVMPositionBuilderAtEnd(ir_, ref(block)); }
Block LlvmBuilder::position() const { return {current()}; }
void LlvmBuilder::jump(Block to) { LLVMBuildBr(ir_, ref(to)); }

void LlvmBuilder::branch(Value condition, Block if_true, Block if_false, Likely likely) {
  APSIS_ASSERT(lanes_of(condition) == 1 && condition.dtype == Dtype::Bool);
  LLVMValueRef jump = LLVMBuildCondBr(ir_, ref(condition), ref(if_true), ref(if_false));
  if (likely == Likely::Unknown) return;
  LLVMValueRef& weights = weights_[likely == Likely::True];
  if (!weights) {
    const std::uint64_t often = 2000, seldom = 1;
    LLVMMetadataRef parts[] = {
        LLVMMDStringInContext2(context_, "branch_weights", 14),
        LLVMValueAsMetadata(LLVMConstInt(i32_, likely == Likely::True ? often : seldom, false)),
        LLVMValueAsMetadata(LLVMConstInt(i32_, likely == Likely::True ? seldom : often, false))};
    weights = LLVMMetadataAsValue(context_, LLVMMDNodeInContext2(context_, parts, 3));
  }
  LLVMSetMetadata(jump, LLVMGetMDKindIDInContext(context_, "prof", 4), weights);
}

void LlvmBuilder::switch_to(Value index, std::span<const Block> blocks) {
  LLVMValueRef jump =
      LLVMBuildSwitch(ir_, ref(index), ref(blocks.back()), static_cast<unsigned>(blocks.size()));
  for (std::size_t i = 0; i < blocks.size(); ++i)
    LLVMAddCase(jump, LLVMConstInt(i64_, i, false), ref(blocks[i]));
}

Operand LlvmBuilder::phi(Type type) { return Pointer{LLVMBuildPhi(ir_, type_of(type), "")}; }
void LlvmBuilder::add_incoming(Operand phi, Operand v, Block from) {
  LLVMValueRef value = ref(Pointer{v.handle});
  LLVMBasicBlockRef block = ref(from);
  LLVMValueRef counter = ref(Pointer{phi.handle});
  LLVMAddIncoming(counter, &value, &block, 1);
  carry_multiples(counter, value);
}

}  // namespace apsis::detail
