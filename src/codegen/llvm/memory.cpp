// Loads, stores and stack slots.

#include "apsis/base/error.hpp"
#include "codegen/llvm/llvm_builder.hpp"

namespace apsis::detail {

using Value = LlvmBuilder::Value;

Pointer LlvmBuilder::offset(Pointer p, std::int64_t bytes) { return bytes ? offset(p, index(bytes)) : p; }
Pointer LlvmBuilder::offset(Pointer p, Value bytes) { return {address_at(ref(p), ref(bytes))}; }
Pointer LlvmBuilder::choose(Value condition, ConstPointer if_true, ConstPointer if_false) {
  return {LLVMBuildSelect(ir_, ref(condition), ref(if_true), ref(if_false), "")};
}
Pointer LlvmBuilder::null_pointer() { return {LLVMConstNull(pointer_)}; }
bool LlvmBuilder::is_constant(Value v) { return LLVMIsConstant(ref(v)); }
Value LlvmBuilder::is_null(ConstPointer p) { return {LLVMBuildIsNull(ir_, ref(p), ""), Dtype::Bool}; }

Value LlvmBuilder::from_storage(LLVMValueRef stored, Dtype dtype, int lanes) {
  if (dtype != Dtype::Bool) return {stored, dtype};
  return {LLVMBuildICmp(ir_, LLVMIntNE, stored, LLVMConstNull(stored_type(dtype, lanes)), ""), dtype};
}
LLVMValueRef LlvmBuilder::to_storage(Value v) {
  return v.dtype == Dtype::Bool ? LLVMBuildZExt(ir_, ref(v), stored_type(v.dtype, lanes_of(v)), "") : ref(v);
}

void LlvmBuilder::note_vector(Dtype dtype) {
  constexpr int aligned_anyway = 16;  // bytes
  if (lanes_ * static_cast<int>(item_size(dtype)) > aligned_anyway) frames_.back().has_vectors = true;
}

Value LlvmBuilder::load(ConstPointer p, Dtype dtype) {
  note_vector(dtype);
  LLVMValueRef stored = LLVMBuildLoad2(ir_, stored_type(dtype, lanes_), ref(p), "");
  LLVMSetAlignment(stored, static_cast<unsigned>(item_size(dtype)));
  return from_storage(stored, dtype, lanes_);
}
void LlvmBuilder::store(Pointer p, Value v) {
  note_vector(v.dtype);
  LLVMSetAlignment(LLVMBuildStore(ir_, to_storage(v), ref(p)), static_cast<unsigned>(item_size(v.dtype)));
}

Value LlvmBuilder::load_element(ConstPointer p, Dtype dtype) {
  LLVMValueRef stored = LLVMBuildLoad2(ir_, stored_type(dtype, 1), ref(p), "");
  LLVMSetAlignment(stored, static_cast<unsigned>(item_size(dtype)));
  return from_storage(stored, dtype, 1);
}
Value LlvmBuilder::load_relaxed(ConstPointer p, Dtype dtype) {
  LLVMValueRef stored = LLVMBuildLoad2(ir_, stored_type(dtype, 1), ref(p), "");
  LLVMSetAlignment(stored, static_cast<unsigned>(item_size(dtype)));
  LLVMSetOrdering(stored, LLVMAtomicOrderingMonotonic);
  return from_storage(stored, dtype, 1);
}

// The masked intrinsics carry the alignment as an argument up to LLVM 21, as an attribute of the address from
// 22 on. `value` is what is stored, or null for loads, whose unset lanes become zero.
LLVMValueRef LlvmBuilder::masked_access(const char* name, std::initializer_list<LLVMTypeRef> overloads,
                                        LLVMValueRef value, LLVMValueRef address, Dtype dtype,
                                        LLVMValueRef mask) {
  const unsigned id = LLVMLookupIntrinsicID(name, std::char_traits<char>::length(name));
  LLVMValueRef f =
      LLVMGetIntrinsicDeclaration(module_, id, const_cast<LLVMTypeRef*>(overloads.begin()), overloads.size());
  LLVMTypeRef type = LLVMGlobalGetValueType(f);
  std::vector<LLVMValueRef> arguments;
  if (value) arguments.push_back(value);
  const auto address_index = static_cast<unsigned>(arguments.size() + 1);  // 0 is the result
  arguments.push_back(address);
  const bool as_argument = LLVMCountParamTypes(type) == 4;
  if (as_argument) arguments.push_back(LLVMConstInt(i32_, item_size(dtype), false));
  arguments.push_back(mask);
  if (!value) arguments.push_back(LLVMConstNull(*overloads.begin()));
  LLVMValueRef call =
      LLVMBuildCall2(ir_, type, f, arguments.data(), static_cast<unsigned>(arguments.size()), "");
  if (!as_argument) {
    const unsigned align = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAddCallSiteAttribute(call, address_index, LLVMCreateEnumAttribute(context_, align, item_size(dtype)));
  }
  return call;
}

// A masked access of one lane goes to a slot nobody reads when the lane is unset.
Value LlvmBuilder::masked_load(ConstPointer p, Dtype dtype, Value mask) {
  const int n = lanes_of(mask);
  if (n == 1) {
    Pointer safe{LLVMBuildSelect(ir_, ref(mask), ref(p), ref(stack(item_size(dtype))), "")};
    return select(mask, load_element(safe, dtype), zero(dtype, 1));
  }
  LLVMTypeRef type = stored_type(dtype, n);
  return from_storage(masked_access("llvm.masked.load", {type, pointer_}, nullptr, ref(p), dtype, ref(mask)),
                      dtype, n);
}
Value LlvmBuilder::expand_load(ConstPointer p, Dtype dtype, Value mask) {
  const int n = lanes_of(mask);
  if (n == 1) return masked_load(p, dtype, mask);
  LLVMTypeRef type = stored_type(dtype, n);
  return from_storage(masked_access("llvm.masked.expandload", {type}, nullptr, ref(p), dtype, ref(mask)),
                      dtype, n);
}
void LlvmBuilder::masked_store(Pointer p, Value v, Value mask) {
  const int n = lanes_of(v);
  if (n == 1) {
    store({LLVMBuildSelect(ir_, ref(mask), ref(p), ref(stack(item_size(v.dtype))), "")}, v);
    return;
  }
  LLVMValueRef stored = to_storage(v);
  masked_access("llvm.masked.store", {LLVMTypeOf(stored), pointer_}, stored, ref(p), v.dtype, ref(mask));
}

LLVMValueRef LlvmBuilder::element_addresses(ConstPointer p, Value elements, Dtype dtype) {
  APSIS_ASSERT(elements.dtype == Dtype::I64);
  LLVMValueRef index = ref(elements);
  return LLVMBuildGEP2(ir_, stored_type(dtype, 1), ref(p), &index, 1, "");
}
Value LlvmBuilder::gather(ConstPointer p, Value elements, Dtype dtype) {
  return gather(p, elements, dtype, constant(Dtype::Bool, 1, lanes_of(elements)));
}
Value LlvmBuilder::gather(ConstPointer p, Value elements, Dtype dtype, Value mask) {
  const int n = lanes_of(elements);
  LLVMValueRef addresses = element_addresses(p, elements, dtype);
  if (n == 1) return masked_load(Pointer{addresses}, dtype, mask);
  LLVMTypeRef type = stored_type(dtype, n), pointers = LLVMTypeOf(addresses);
  return from_storage(
      masked_access("llvm.masked.gather", {type, pointers}, nullptr, addresses, dtype, ref(mask)), dtype, n);
}
void LlvmBuilder::scatter(Pointer p, Value elements, Value v) {
  scatter(p, elements, v, constant(Dtype::Bool, 1, lanes_of(elements)));
}
void LlvmBuilder::scatter(Pointer p, Value elements, Value v, Value mask) {
  LLVMValueRef addresses = element_addresses(p, elements, v.dtype);
  if (lanes_of(elements) == 1) return masked_store({addresses}, v, mask);
  LLVMValueRef stored = to_storage(v);
  masked_access("llvm.masked.scatter", {LLVMTypeOf(stored), LLVMTypeOf(addresses)}, stored, addresses,
                v.dtype, ref(mask));
}

void LlvmBuilder::prefetch(ConstPointer p) {
  const unsigned id = LLVMLookupIntrinsicID("llvm.prefetch", 13);
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(module_, id, &pointer_, 1);
  constexpr unsigned read = 0, all_levels = 3, data = 1;
  LLVMValueRef arguments[] = {ref(p), LLVMConstInt(i32_, read, false), LLVMConstInt(i32_, all_levels, false),
                              LLVMConstInt(i32_, data, false)};
  LLVMBuildCall2(ir_, LLVMGlobalGetValueType(f), f, arguments, 4, "");
}

Pointer LlvmBuilder::load_pointer(ConstPointer p) { return {LLVMBuildLoad2(ir_, pointer_, ref(p), "")}; }
void LlvmBuilder::store_pointer(Pointer p, ConstPointer value) { LLVMBuildStore(ir_, ref(value), ref(p)); }

Pointer LlvmBuilder::stack(std::size_t bytes) {
  APSIS_ASSERT(!frames_.empty());
  LLVMBasicBlockRef here = current();
  LLVMPositionBuilderAtEnd(ir_, frames_.back().slots);
  LLVMValueRef slot = LLVMBuildAlloca(ir_, LLVMArrayType2(i8_, bytes), "");
  LLVMSetAlignment(slot, 64);
  LLVMPositionBuilderAtEnd(ir_, here);
  return {slot};
}

void LlvmBuilder::copy_bytes(Pointer to, ConstPointer from, Value bytes) {
  frames_.back().operands += 6;  // of the loads and stores that it becomes
  LLVMBuildMemCpy(ir_, ref(to), 1, ref(from), 1, ref(bytes));
}
void LlvmBuilder::fill_bytes(Pointer to, std::uint8_t byte, Value bytes) {
  LLVMBuildMemSet(ir_, ref(to), LLVMConstInt(i8_, byte, false), ref(bytes), 1);
}

Pointer LlvmBuilder::constant_data(std::span<const std::byte> bytes) {
  const auto count = static_cast<unsigned>(bytes.size());
  LLVMValueRef data =
      LLVMConstStringInContext(context_, reinterpret_cast<const char*>(bytes.data()), count, true);
  LLVMValueRef global = LLVMAddGlobal(module_, LLVMTypeOf(data), "data");
  LLVMSetInitializer(global, data);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetGlobalConstant(global, true);
  LLVMSetAlignment(global, 64);
  return {global};
}

}  // namespace apsis::detail
