// From the first line of a module to machine code.

#include <llvm-c/Analysis.h>
#include <llvm-c/TargetMachine.h>

#include <optional>

#include "apsis/base/error.hpp"
#include "codegen/llvm/lean_passes.hpp"
#include "codegen/llvm/llvm_builder.hpp"
#include "codegen/llvm/pass_gate.hpp"
#include "codegen/llvm/target.hpp"

namespace apsis::detail {
namespace {

constexpr unsigned function_index = static_cast<unsigned>(LLVMAttributeFunctionIndex);

std::string take(char* message) {
  std::string text = message ? message : "";
  LLVMDisposeMessage(message);
  return text;
}

// Without a handler LLVM prints errors and leaves the process.
void keep_diagnosis(LLVMDiagnosticInfoRef info, void* text) {
  if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
    *static_cast<std::string*>(text) += take(LLVMGetDiagInfoDescription(info));
}

}  // namespace

LlvmBuilder::LlvmBuilder(const BuilderOptions& options)
    : isa_(options.isa),
      inline_uses_(options.inline_uses),
      inline_library_uses_(options.inline_library_uses),
      carries_multiples_(options.carries_multiples) {
  const int bytes = vector_bytes_of(isa_);
  context_ = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(context_, keep_diagnosis, &diagnosis_);
  module_ = LLVMModuleCreateWithNameInContext("apsis", context_);
  ir_ = LLVMCreateBuilderInContext(context_);
  pointer_ = LLVMPointerTypeInContext(context_, 0);
  i1_ = LLVMInt1TypeInContext(context_);
  i8_ = LLVMInt8TypeInContext(context_);
  i32_ = LLVMInt32TypeInContext(context_);
  i64_ = LLVMInt64TypeInContext(context_);
  void_ = LLVMVoidTypeInContext(context_);
  for (int d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<Dtype>(d);
    LLVMTypeRef& type = scalars_[d];
    if (dtype == Dtype::Bool)
      type = i1_;
    else if (dtype == Dtype::F32)
      type = LLVMFloatTypeInContext(context_);
    else if (dtype == Dtype::F64)
      type = LLVMDoubleTypeInContext(context_);
    else if (is_complex(dtype))
      type = nullptr;
    else
      type = LLVMIntTypeInContext(context_,
                                  static_cast<unsigned>(8 * item_size(dtype)));  // the two halves: bits
  }
  no_unwind_ = LLVMCreateEnumAttribute(context_, LLVMGetEnumAttributeKindForName("nounwind", 8), 0);
  const char* width = bytes == 64 ? "512" : "256";
  wide_vectors_ = LLVMCreateStringAttribute(context_, "prefer-vector-width", 19, width, 3);
  aligned_stack_ = LLVMCreateStringAttribute(context_, "stackrealign", 12, "", 0);
}

LlvmBuilder::~LlvmBuilder() {
  LLVMDisposeBuilder(ir_);
  LLVMDisposeModule(module_);
  LLVMContextDispose(context_);
}

LLVMValueRef LlvmBuilder::add_function(const char* name, LLVMTypeRef type, LLVMLinkage linkage) {
  LLVMValueRef f = LLVMAddFunction(module_, name, type);
  LLVMSetLinkage(f, linkage);
  LLVMAddAttributeAtIndex(f, function_index, no_unwind_);
  LLVMAddAttributeAtIndex(f, function_index, wide_vectors_);
  return f;
}

std::vector<std::byte> LlvmBuilder::object(const CodeOptions& options) {
  APSIS_ASSERT(frames_.empty());
  if (options.verify) {
    char* message = nullptr;
    const bool broken = LLVMVerifyModule(module_, LLVMReturnStatusAction, &message);
    std::string text = take(message);
    if (broken) throw InternalError("a compiled program is not well formed: " + text);
  }
  TargetLease target(isa_, options.level);
  LLVMSetTarget(module_, "x86_64-unknown-linux-gnu");
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(target.machine());
  LLVMSetModuleDataLayout(module_, layout);
  LLVMDisposeTargetData(layout);
  std::optional<PassGate> gate;  // the fast level has none of the passes that it leaves out
  if (options.level != Level::None) gate.emplace(context_, module_);
  std::vector<std::byte> object = emit_object(target.machine(), module_);
  if (!diagnosis_.empty()) throw InternalError("code generation failed: " + diagnosis_);
  return object;
}

std::string LlvmBuilder::text() const { return take(LLVMPrintModuleToString(module_)); }

}  // namespace apsis::detail

extern "C" apsis::detail::Builder* apsis_make_builder(const apsis::detail::BuilderOptions& options) {
  return new apsis::detail::LlvmBuilder(options);
}
