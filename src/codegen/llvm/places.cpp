// Places and addresses. Loops over elements ask for the same ones again and again, each a number further on.
// What a block has already is not written again, and known numbers come last, where an instruction's address
// takes them: code that is not there need not be compiled.

#include <utility>

#include "base/hash.hpp"
#include "codegen/llvm/llvm_builder.hpp"

namespace apsis::detail {
namespace {

bool is_number(LLVMValueRef v) { return LLVMIsAConstantInt(v); }
std::uint64_t number(LLVMValueRef v) { return LLVMConstIntGetZExtValue(v); }

/// Whether `v` is a value plus a known number.
bool is_further(LLVMValueRef v) {
  return LLVMIsABinaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMAdd &&
         is_number(LLVMGetOperand(v, 1));
}
/// The same of addresses.
bool is_further_on(LLVMValueRef p, LLVMTypeRef byte) {
  return LLVMIsAGetElementPtrInst(p) && LLVMGetGEPSourceElementType(p) == byte &&
         is_number(LLVMGetOperand(p, 1));
}

}  // namespace

std::size_t LlvmBuilder::Computed::Hash::operator()(const Computed& c) const {
  const auto bits = [](const void* p) { return reinterpret_cast<std::uint64_t>(p); };
  return hash_mix(hash_mix(bits(c.block) + static_cast<std::uint64_t>(c.what), bits(c.a)), bits(c.b));
}

template <class F>
LLVMValueRef LlvmBuilder::once(LLVMOpcode what, LLVMValueRef a, LLVMValueRef b, const F& make) {
  const auto [known, fresh] = computed_.try_emplace({current(), what, a, b}, nullptr);
  if (fresh) known->second = make();
  return known->second;
}

LLVMValueRef LlvmBuilder::place_sum(LLVMValueRef a, LLVMValueRef b) {
  if (is_number(a)) std::swap(a, b);
  if (is_number(b) && is_further(a)) {
    b = LLVMConstInt(i64_, number(b) + number(LLVMGetOperand(a, 1)), false);
    a = LLVMGetOperand(a, 0);
  }
  if (is_number(b) && number(b) == 0) return a;
  return once(LLVMAdd, a, b, [&] { return LLVMBuildAdd(ir_, a, b, ""); });
}

LLVMValueRef LlvmBuilder::place_product(LLVMValueRef a, LLVMValueRef b) {
  if (is_number(a)) std::swap(a, b);
  if (is_number(b) && number(b) == 1) return a;
  if (is_number(b) && is_further(a))
    return place_sum(place_product(LLVMGetOperand(a, 0), b),
                     LLVMConstInt(i64_, number(b) * number(LLVMGetOperand(a, 1)), false));
  return once(LLVMMul, a, b, [&] { return LLVMBuildMul(ir_, a, b, ""); });
}

LLVMValueRef LlvmBuilder::address_at(LLVMValueRef p, LLVMValueRef bytes) {
  if (is_further(bytes)) return address_at(address_at(p, LLVMGetOperand(bytes, 0)), LLVMGetOperand(bytes, 1));
  if (is_number(bytes) && is_further_on(p, i8_)) {
    bytes = LLVMConstInt(i64_, number(bytes) + number(LLVMGetOperand(p, 1)), false);
    p = LLVMGetOperand(p, 0);
  }
  if (is_number(bytes) && number(bytes) == 0) return p;
  return once(LLVMGetElementPtr, p, bytes, [&] { return LLVMBuildGEP2(ir_, i8_, p, &bytes, 1, ""); });
}

}  // namespace apsis::detail
