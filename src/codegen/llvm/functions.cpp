// Functions of the module, functions of the library, and the two forms of outlined code that ops ask for.

#include <algorithm>
#include <utility>

#include "apsis/base/error.hpp"
#include "codegen/llvm/llvm_builder.hpp"
#include "core/undefined_memory.hpp"
#include "ops/math/library.hpp"

namespace apsis::detail {

using Value = LlvmBuilder::Value;

// Masks go from function to function as integers: for vectors of i1 that are returned or passed, LLVM without
// optimisation picks registers of another class than its callees (22: "Cannot emit physreg copy").

LLVMTypeRef LlvmBuilder::passed_type(Type type) const {
  if (type.dtype != Dtype::Bool || type.lanes <= 1) return type_of(type);
  return LLVMIntTypeInContext(context_, static_cast<unsigned>(std::max(type.lanes, 8)));
}
LLVMValueRef LlvmBuilder::to_passed(LLVMValueRef value, Type type) {
  if (passed_type(type) == type_of(type)) return value;
  LLVMValueRef bits = mask_integer({value, Dtype::Bool});
  return type.lanes < 8 ? LLVMBuildZExt(ir_, bits, i8_, "") : bits;
}
LLVMValueRef LlvmBuilder::from_passed(LLVMValueRef value, Type type) {
  if (passed_type(type) == type_of(type)) return value;
  value = local(value);
  LLVMTypeRef bits = LLVMIntTypeInContext(context_, static_cast<unsigned>(type.lanes));
  if (type.lanes < 8) value = LLVMBuildTrunc(ir_, value, bits, "");
  return LLVMBuildBitCast(ir_, value, type_of(type), "");
}

Function LlvmBuilder::declare(const char* name, std::span<const Type> parameters,
                              std::span<const Type> results, bool exported) {
  std::vector<LLVMTypeRef> types, returned;
  for (Type t : parameters) types.push_back(passed_type(t));
  for (Type t : results) returned.push_back(passed_type(t));
  LLVMTypeRef result =
      returned.empty() ? void_
      : returned.size() == 1
          ? returned[0]
          : LLVMStructTypeInContext(context_, returned.data(), static_cast<unsigned>(returned.size()), false);
  LLVMTypeRef type = LLVMFunctionType(result, types.data(), static_cast<unsigned>(types.size()), false);
  LLVMValueRef f = add_function(name, type, exported ? LLVMExternalLinkage : LLVMInternalLinkage);
  functions_.push_back({f, type, {parameters.begin(), parameters.end()}, {results.begin(), results.end()}});
  return {&functions_.back()};
}

void LlvmBuilder::begin(Function f) {
  const FunctionInfo& function = info(f);
  LLVMBasicBlockRef slots = LLVMAppendBasicBlockInContext(context_, function.value, "slots");
  LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(context_, function.value, "body");
  frames_.push_back({&function, slots, body, current(), lanes_});
  lanes_ = 1;
  LLVMPositionBuilderAtEnd(ir_, body);
}

void LlvmBuilder::end() {
  const Frame frame = frames_.back();
  frames_.pop_back();
  LLVMPositionBuilderAtEnd(ir_, frame.slots);
  LLVMBuildBr(ir_, frame.body);
  // Registers that a loop keeps on the stack should not lie across cache lines, let alone pages. What has no
  // loop is spared the two instructions.
  constexpr unsigned straight = 2;  // blocks
  if (frame.has_vectors && LLVMCountBasicBlocks(frame.function->value) > straight)
    LLVMAddAttributeAtIndex(frame.function->value,
                            static_cast<LLVMAttributeIndex>(LLVMAttributeFunctionIndex), aligned_stack_);
  lanes_ = frame.outer_lanes;
  if (frame.outer_position)
    LLVMPositionBuilderAtEnd(ir_, frame.outer_position);
  else
    LLVMClearInsertionPosition(ir_);
}

Value LlvmBuilder::parameter(int i) {
  const FunctionInfo& function = *frames_.back().function;
  const Type type = function.parameters[static_cast<std::size_t>(i)];
  return {from_passed(LLVMGetParam(function.value, static_cast<unsigned>(i)), type), type.dtype};
}
Pointer LlvmBuilder::pointer_parameter(int i) {
  return {LLVMGetParam(frames_.back().function->value, static_cast<unsigned>(i))};
}

void LlvmBuilder::return_values(std::span<const Value> results) {
  const std::vector<Type>& types = frames_.back().function->results;
  APSIS_ASSERT(results.size() == types.size());
  if (results.empty()) {
    LLVMBuildRetVoid(ir_);
  } else if (results.size() == 1) {
    LLVMBuildRet(ir_, to_passed(ref(results[0]), types[0]));
  } else {
    std::vector<LLVMValueRef> values;
    for (std::size_t i = 0; i < results.size(); ++i) values.push_back(to_passed(ref(results[i]), types[i]));
    LLVMBuildAggregateRet(ir_, values.data(), static_cast<unsigned>(values.size()));
  }
}

void LlvmBuilder::call(Function f, std::span<const Operand> arguments, std::span<Value> results) {
  const FunctionInfo& function = info(f);
  APSIS_ASSERT(arguments.size() == function.parameters.size() && results.size() == function.results.size());
  std::vector<LLVMValueRef> values;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    values.push_back(
        to_passed(local(static_cast<LLVMValueRef>(arguments[i].handle)), function.parameters[i]));
  LLVMValueRef r = LLVMBuildCall2(ir_, function.type, function.value, values.data(),
                                  static_cast<unsigned>(values.size()), "");
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = {
        from_passed(results.size() == 1 ? r : LLVMBuildExtractValue(ir_, r, static_cast<unsigned>(i), ""),
                    function.results[i]),
        function.results[i].dtype};
}

Pointer LlvmBuilder::address_of(Function f) { return {info(f).value}; }

LLVMValueRef LlvmBuilder::call_symbol(const char* symbol, LLVMTypeRef result,
                                      std::span<const Operand> arguments) {
  std::vector<LLVMTypeRef> types;
  std::vector<LLVMValueRef> values;
  for (const Operand& a : arguments) {
    values.push_back(local(static_cast<LLVMValueRef>(a.handle)));
    types.push_back(LLVMTypeOf(values.back()));
  }
  LLVMTypeRef type = LLVMFunctionType(result, types.data(), static_cast<unsigned>(types.size()), false);
  LLVMValueRef f = LLVMGetNamedFunction(module_, symbol);
  if (!f) f = add_function(symbol, type, LLVMExternalLinkage);
  return LLVMBuildCall2(ir_, type, f, values.data(), static_cast<unsigned>(values.size()), "");
}
Value LlvmBuilder::call_runtime(const char* symbol, Dtype result, std::span<const Operand> arguments) {
  // Narrower results would depend on how the callee extends them.
  APSIS_ASSERT(item_size(result) >= 4);
  return {call_symbol(symbol, type_of(result, 1), arguments), result};
}
Pointer LlvmBuilder::call_runtime_pointer(const char* symbol, std::span<const Operand> arguments) {
  return {call_symbol(symbol, pointer_, arguments)};
}
void LlvmBuilder::call_runtime_void(const char* symbol, std::span<const Operand> arguments) {
  call_symbol(symbol, void_, arguments);
}

void LlvmBuilder::function(const char* name, FunctionBody body, const void* context,
                           std::span<const Value> in, std::span<Value> out) {
  std::string key = name;
  for (Value v : in) (key += '.') += name_of(v.dtype);
  const int lanes = in.empty() ? lanes_ : lanes_of(in[0]);
  if (lanes > 1) (key += 'x') += std::to_string(lanes);
  const auto [known, fresh] = named_.try_emplace(key);
  Named& named = known->second;
  if (fresh && !in.empty() && (in[0].dtype == Dtype::F32 || in[0].dtype == Dtype::F64))
    named.symbol =
        math::library_symbol(name, static_cast<int>(item_size(in[0].dtype)), lanes, vector_bytes());
  const int outer_lanes = lanes_;
  auto write = [&](std::span<const Value> arguments, std::span<Value> results) {
    lanes_ = lanes;
    body(*this, context, arguments, results);
    named.results.clear();
    for (Value v : results) named.results.push_back({v.dtype, lanes_of(v)});
  };
  if (named.uses++ < (named.symbol.empty() ? inline_uses_ : inline_library_uses_)) {
    write(in, out);
    lanes_ = outer_lanes;
    return;
  }
  if (!named.symbol.empty()) {
    const std::vector<Operand> arguments(in.begin(), in.end());
    out[0] = {call_symbol(named.symbol.c_str(), type_of(in[0].dtype, lanes), arguments), in[0].dtype};
    return;
  }
  if (!named.function.handle) {
    std::vector<Type> parameters;
    for (Value v : in) parameters.push_back({v.dtype, lanes_of(v)});
    auto define = [&](std::span<const Type> types, bool returns) {
      const Function f = declare(key.c_str(), parameters, types, false);
      begin(f);
      std::vector<Value> inner, results(out.size());
      for (std::size_t i = 0; i < in.size(); ++i) inner.push_back(parameter(static_cast<int>(i)));
      write(inner, results);
      if (returns) return_values(results);
      end();
      return f;
    };
    // What it returns is known once it was written, if only to be thrown away.
    if (named.results.empty()) {
      LLVMDeleteFunction(info(define({}, false)).value);
      computed_.clear();  // what comes next may have the addresses of what was there
    }
    const std::vector<Type> types = named.results;
    named.function = define(types, true);
  }
  const std::vector<Operand> arguments(in.begin(), in.end());
  call(named.function, arguments, out);
}

// (mask, arguments…, fast) → result: calls the scalar function for each set lane; at least one is.
Function LlvmBuilder::rare_function(const char* symbol, std::size_t arguments, Dtype dtype, int lanes) {
  Function& known = rare_[std::string(symbol) + 'x' + std::to_string(lanes)];
  if (known.handle) return known;
  std::vector<Type> parameters{{Dtype::Bool, lanes}};
  parameters.insert(parameters.end(), arguments + 1, Type{dtype, lanes});
  const Type result[] = {{dtype, lanes}};
  const Function f = declare((std::string("rare.") + symbol).c_str(), parameters, result, false);
  begin(f);
  std::vector<Pointer> slots;
  for (std::size_t i = 0; i <= arguments; ++i) {
    slots.push_back(stack(static_cast<std::size_t>(lanes) * item_size(dtype)));
    store(slots[i], parameter(static_cast<int>(i) + 1));
  }
  const Value all_bits = mask_bits(parameter(0));
  const Block before = position(), loop = make_block("lane"), done = make_block("done");
  jump(loop);
  set_position(loop);
  const Value bits{phi({Dtype::I64, 1}).handle, Dtype::I64};
  add_incoming(bits, all_bits, before);
  const Value bytes = mul(trailing_zeros(bits), index(static_cast<std::int64_t>(item_size(dtype))));
  std::vector<Operand> scalars;
  for (std::size_t i = 0; i < arguments; ++i) scalars.emplace_back(load(offset(slots[i], bytes), dtype));
  store(offset(slots[arguments], bytes), call_runtime(symbol, dtype, scalars));
  const Value rest = bit_and(bits, sub(bits, index(1)));
  add_incoming(bits, rest, loop);
  branch(compare(Compare::Ne, rest, index(0)), loop, done, Likely::Unknown);
  set_position(done);
  lanes_ = lanes;
  const Value results[] = {load(slots[arguments], dtype)};
  return_values(results);
  end();
  return known = f;
}

Value LlvmBuilder::rare(Value mask, const char* symbol, std::span<const Value> in, Value fast) {
  const int lanes = lanes_of(mask);
  if (marks_memory && lanes > 1) {
    // Lanes at rest have any values, which may take the others along: those get the same either way.
    const int outer_lanes = std::exchange(lanes_, lanes);
    const Pointer slot = stack(static_cast<std::size_t>(lanes));
    store(slot, mask);
    const Operand arguments[] = {slot, index(lanes)};
    call_runtime_void("apsis_mark_written", arguments);
    mask = load(slot, Dtype::Bool);
    lanes_ = outer_lanes;
  }
  return where_rare(mask, fast, [&] {
    std::vector<Operand> arguments(in.begin(), in.end());
    if (lanes == 1) return call_runtime(symbol, fast.dtype, arguments);
    arguments.insert(arguments.begin(), mask);
    arguments.emplace_back(fast);
    Value slow[1];
    call(rare_function(symbol, in.size(), fast.dtype, lanes), arguments, slow);
    return slow[0];
  });
}

}  // namespace apsis::detail
