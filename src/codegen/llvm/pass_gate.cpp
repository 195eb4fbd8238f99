// LLVM's C++ interface: the C one leaves a pass out for a whole process or not at all.

#include "codegen/llvm/pass_gate.hpp"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/OptBisect.h>

#include <string>
#include <unordered_set>
#include <utility>

namespace apsis::detail {
namespace {

/// Instructions of a block whose invariants fill the registers.
constexpr int long_block = 200;

bool has_long_block(LLVMValueRef function) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
    int length = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
      if (++length == long_block) return true;
  }
  return false;
}

}  // namespace

struct PassGate::Gate final : llvm::OptPassGate {
  // LLVM asks through one of these: the later versions through the first.
  virtual bool shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) const {
    return (pass != "early-machinelicm" && pass != "Early Machine Loop Invariant Code Motion") ||
           !units.contains(unit.str());
  }
  virtual bool shouldRunPass(llvm::StringRef pass, llvm::StringRef unit) {
    return std::as_const(*this).shouldRunPass(pass, unit);
  }
  bool isEnabled() const override { return !units.empty(); }

  std::unordered_set<std::string> units;  // the functions, as LLVM describes them
};

PassGate::PassGate(LLVMContextRef context, LLVMModuleRef module) : gate_(std::make_unique<Gate>()) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (!has_long_block(f)) continue;
    std::size_t length = 0;
    const char* name = LLVMGetValueName2(f, &length);
    gate_->units.insert("function (" + std::string(name, length) + ")");
  }
  llvm::unwrap(context)->setOptPassGate(*gate_);
}

PassGate::~PassGate() = default;

}  // namespace apsis::detail
