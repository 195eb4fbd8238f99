// LLVM's C++ interface: the C one runs all passes that a level has.

#include "codegen/llvm/lean_passes.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Pass.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <string_view>

#include "apsis/base/error.hpp"

namespace apsis::detail {
namespace {

// By the names that LLVM's tools know them by.
constexpr std::string_view left_out[] = {
    // Finds what addresses of loops have in common, a seventh of the time to compile. The builder writes
    // addresses so that there is nothing to find (places.cpp).
    "loop-reduce", "canon-freeze",
    // For what no program here has: calls of the C library to be expanded, exceptions, wide integers, tiles,
    // protected stacks, collected garbage, places in the source.
    "mergeicmps", "expand-memcmp", "partially-inline-libcalls", "replace-with-veclib", "interleaved-access",
    "expand-ir-insts", "x86-lower-amx-intrinsics", "x86-lower-amx-type", "tilepreconfig", "x86-tile-config",
    "x86-lower-tile-copy", "gc-lowering", "shadow-stack-gc-lowering", "gc-analysis",
    "fixup-statepoint-caller-saved", "stackmap-liveness", "dwarf-eh-prepare", "objc-arc-contract",
    "callbrprepare", "indirectbr-expand", "safe-stack", "stack-protector", "x86-slh", "x86-lvi-load",
    "x86-lvi-ret", "x86-seses", "x86-return-thunks", "kcfi", "fentry-insert", "xray-instrumentation",
    "patchable-function", "funclet-layout", "livedebugvalues", "removeredundantdebugvalues",
    "cfi-instr-inserter", "stack-frame-layout", "machine-sanmd", "pseudo-probe-inserter",
    "regallocscoringpass"};

class LeanPasses final : public llvm::legacy::PassManager {
 public:
  void add(llvm::Pass* pass) override {
    const llvm::PassInfo* info = llvm::PassRegistry::getPassRegistry()->getPassInfo(pass->getPassID());
    const std::string_view name = info ? std::string_view(info->getPassArgument()) : std::string_view();
    if (std::ranges::find(left_out, name) != std::end(left_out))
      delete pass;
    else
      llvm::legacy::PassManager::add(pass);
  }
};

}  // namespace

std::vector<std::byte> emit_object(LLVMTargetMachineRef machine, LLVMModuleRef module) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  LeanPasses passes;
  auto& target = *reinterpret_cast<llvm::TargetMachine*>(machine);
  if (target.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    throw InternalError("code generation makes no objects for this machine");
  passes.run(*llvm::unwrap(module));
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

}  // namespace apsis::detail
