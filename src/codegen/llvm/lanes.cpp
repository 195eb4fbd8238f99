// Lanes: making, taking apart and asking values of several lanes.

#include "apsis/base/error.hpp"
#include "codegen/llvm/llvm_builder.hpp"
#include "codegen/llvm/target.hpp"

namespace apsis::detail {

using Value = LlvmBuilder::Value;

void LlvmBuilder::set_lanes(int lanes) {
  APSIS_ASSERT(lanes >= 1 && lanes <= 64 && (lanes & (lanes - 1)) == 0);
  lanes_ = lanes;
}

int LlvmBuilder::lanes_of(Value v) const {
  LLVMTypeRef type = type_of(v);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? static_cast<int>(LLVMGetVectorSize(type)) : 1;
}

int LlvmBuilder::vector_bytes() const { return vector_bytes_of(isa_); }

Value LlvmBuilder::index(std::int64_t value) {
  return constant(Dtype::I64, static_cast<std::uint64_t>(value), 1);
}

Value LlvmBuilder::splat(Value scalar) {
  APSIS_ASSERT(lanes_of(scalar) == 1);
  if (lanes_ == 1) return scalar;
  LLVMTypeRef type = type_of(scalar.dtype, lanes_);
  LLVMValueRef first =
      LLVMBuildInsertElement(ir_, LLVMGetPoison(type), ref(scalar), LLVMConstInt(i32_, 0, false), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(i32_, static_cast<unsigned>(lanes_)));
  return {LLVMBuildShuffleVector(ir_, first, LLVMGetPoison(type), zeros, ""), scalar.dtype};
}

Value LlvmBuilder::extract(Value v, int lane) {
  APSIS_ASSERT(lane >= 0 && lane < lanes_of(v));
  return extract(v, index(lane));
}
Value LlvmBuilder::extract(Value v, Value lane) {
  if (lanes_of(v) == 1) return v;
  return {LLVMBuildExtractElement(ir_, ref(v), ref(lane), ""), v.dtype};
}
Value LlvmBuilder::insert(Value v, int lane, Value scalar) {
  APSIS_ASSERT(lane >= 0 && lane < lanes_of(v));
  return insert(v, index(lane), scalar);
}
Value LlvmBuilder::insert(Value v, Value lane, Value scalar) {
  APSIS_ASSERT(lanes_of(scalar) == 1 && scalar.dtype == v.dtype);
  if (lanes_of(v) == 1) return scalar;
  return {LLVMBuildInsertElement(ir_, ref(v), ref(scalar), ref(lane), ""), v.dtype};
}

Value LlvmBuilder::shuffle(Value a, Value b, std::span<const int> from) {
  check_equal(a, b);
  const int n = lanes_of(a);
  const auto lane = [&](int i) {
    APSIS_ASSERT(i >= 0 && i < 2 * n);
    return i < n ? extract(a, i) : extract(b, i - n);
  };
  if (from.size() == 1) return lane(from[0]);
  APSIS_ASSERT(from.size() <= 64);
  LLVMValueRef numbers[64];
  for (std::size_t i = 0; i < from.size(); ++i)
    numbers[i] = LLVMConstInt(i32_, static_cast<unsigned>(from[i]), false);
  const auto count = static_cast<unsigned>(from.size());
  if (n > 1)
    return {LLVMBuildShuffleVector(ir_, ref(a), ref(b), LLVMConstVector(numbers, count), ""), a.dtype};
  LLVMValueRef joined = LLVMGetPoison(type_of(a.dtype, static_cast<int>(count)));
  for (std::size_t i = 0; i < from.size(); ++i)
    joined = LLVMBuildInsertElement(ir_, joined, ref(lane(from[i])), LLVMConstInt(i32_, i, false), "");
  return {joined, a.dtype};
}

Value LlvmBuilder::lane_numbers() {
  if (lanes_ == 1) return index(0);
  LLVMValueRef numbers[64];
  for (int i = 0; i < lanes_; ++i) numbers[i] = LLVMConstInt(i64_, static_cast<unsigned>(i), false);
  return {LLVMConstVector(numbers, static_cast<unsigned>(lanes_)), Dtype::I64};
}

// The lanes of a mask as the bits of an integer.
LLVMValueRef LlvmBuilder::mask_integer(Value mask) {
  APSIS_ASSERT(mask.dtype == Dtype::Bool);
  const int n = lanes_of(mask);
  return n == 1
             ? ref(mask)
             : LLVMBuildBitCast(ir_, ref(mask), LLVMIntTypeInContext(context_, static_cast<unsigned>(n)), "");
}
Value LlvmBuilder::any(Value mask) {
  LLVMValueRef bits = mask_integer(mask);
  return {LLVMBuildICmp(ir_, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), ""), Dtype::Bool};
}
Value LlvmBuilder::all(Value mask) {
  LLVMValueRef bits = mask_integer(mask);
  return {LLVMBuildICmp(ir_, LLVMIntEQ, bits, LLVMConstAllOnes(LLVMTypeOf(bits)), ""), Dtype::Bool};
}
Value LlvmBuilder::mask_bits(Value mask) {
  LLVMValueRef bits = mask_integer(mask);
  return {lanes_of(mask) == 64 ? bits : LLVMBuildZExt(ir_, bits, i64_, ""), Dtype::I64};
}

}  // namespace apsis::detail
