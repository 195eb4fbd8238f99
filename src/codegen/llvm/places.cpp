// Places and addresses. Loops over elements ask for the same ones again and again, each a number further on.
// What a block has already is not written again, and known numbers come last, where an instruction's address
// takes them: code that is not there need not be compiled.

#include <bit>
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
  if (is_number(b) && LLVMIsABinaryOperator(a) && LLVMGetInstructionOpcode(a) == LLVMAdd)
    return place_sum(place_product(LLVMGetOperand(a, 0), b), place_product(LLVMGetOperand(a, 1), b));
  if (LLVMValueRef known = multiple(a, b)) return known;
  return once(LLVMMul, a, b, [&] { return LLVMBuildMul(ir_, a, b, ""); });
}

LLVMValueRef LlvmBuilder::address_at(LLVMValueRef p, LLVMValueRef bytes) {
  if (is_further(bytes)) return address_at(address_at(p, LLVMGetOperand(bytes, 0)), LLVMGetOperand(bytes, 1));
  if (LLVMIsABinaryOperator(bytes) && LLVMGetInstructionOpcode(bytes) == LLVMAdd) {
    LLVMValueRef first = LLVMGetOperand(bytes, 0), last = LLVMGetOperand(bytes, 1);
    if (varies_here(first)) std::swap(first, last);
    return address_at(address_at(p, first), last);
  }
  if (is_number(bytes) && is_further_on(p, i8_)) {
    bytes = LLVMConstInt(i64_, number(bytes) + number(LLVMGetOperand(p, 1)), false);
    p = LLVMGetOperand(p, 0);
  }
  if (is_number(bytes) && number(bytes) == 0) return p;
  return once(LLVMGetElementPtr, p, bytes, [&] { return LLVMBuildGEP2(ir_, i8_, p, &bytes, 1, ""); });
}

/// Whether a value is not the same in all iterations of the block. What is comes first in sums: it is
/// computed before the loop.
bool LlvmBuilder::varies_here(LLVMValueRef v, int depth) const {
  constexpr int deepest = 4;
  if (!LLVMIsAInstruction(v) || LLVMGetInstructionParent(v) != current()) return false;
  if (depth == deepest || !(LLVMIsABinaryOperator(v) || LLVMIsAGetElementPtrInst(v))) return true;
  return varies_here(LLVMGetOperand(v, 0), depth + 1) || varies_here(LLVMGetOperand(v, 1), depth + 1);
}

/// The counter of the loop that is open, times a number: one that counts along. Null: `counter` is none, or
/// an instruction's address takes the factor.
LLVMValueRef LlvmBuilder::multiple(LLVMValueRef counter, LLVMValueRef factor) {
  constexpr std::uint64_t largest_scale = 8;
  if (!carries_multiples_ || !LLVMIsAPHINode(counter) || LLVMCountIncoming(counter) != 1 ||
      !is_number(factor))
    return nullptr;
  LLVMValueRef start = LLVMGetIncomingValue(counter, 0);
  if (!is_number(start) || (std::has_single_bit(number(factor)) && number(factor) <= largest_scale))
    return nullptr;
  std::vector<Multiple>& known = multiples_[counter];
  for (const Multiple& m : known)
    if (m.factor == factor) return m.phi;
  LLVMBasicBlockRef here = current(), before = LLVMGetIncomingBlock(counter, 0);
  LLVMPositionBuilderBefore(ir_, counter);
  LLVMValueRef phi = LLVMBuildPhi(ir_, i64_, "");
  LLVMPositionBuilderAtEnd(ir_, here);
  LLVMValueRef first = LLVMConstInt(i64_, number(start) * number(factor), false);
  LLVMAddIncoming(phi, &first, &before, 1);
  known.push_back({factor, phi});
  return phi;
}

/// At the end of an iteration, which goes on with `next`.
void LlvmBuilder::carry_multiples(LLVMValueRef counter, LLVMValueRef next) {
  const auto found = multiples_.find(counter);
  if (found == multiples_.end()) return;
  const std::vector<Multiple> carried = std::move(found->second);
  multiples_.erase(found);
  LLVMBasicBlockRef here = current();
  const bool counts = is_further(next) && LLVMGetOperand(next, 0) == counter;
  for (const Multiple& m : carried) {
    LLVMValueRef further =
        counts
            ? LLVMBuildAdd(ir_, m.phi,
                           LLVMConstInt(i64_, number(LLVMGetOperand(next, 1)) * number(m.factor), false), "")
            : LLVMBuildMul(ir_, next, m.factor, "");
    LLVMAddIncoming(m.phi, &further, &here, 1);
    carry_multiples(m.phi, further);
  }
}

}  // namespace apsis::detail
