#pragma once

#include <llvm-c/Core.h>

#include <memory>

namespace apsis::detail {

/// Leaves out the pass that moves invariants out of loops, in functions with a long block. The step of a
/// solver has more invariants (coefficients, addresses) than there are registers: the pass hoists all, the
/// allocator spills them, and each is loaded again where it could have been an operand in memory. Without it
/// a solve compiles in 0.9 of the time and runs in 0.94. The short blocks of loops over elements need it.
class PassGate {
 public:
  /// For the functions that `module` has now, while the gate lives.
  PassGate(LLVMContextRef context, LLVMModuleRef module);
  ~PassGate();
  PassGate(const PassGate&) = delete;
  PassGate& operator=(const PassGate&) = delete;

 private:
  struct Gate;
  std::unique_ptr<Gate> gate_;
};

}  // namespace apsis::detail
