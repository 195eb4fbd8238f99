#pragma once

#include <llvm-c/TargetMachine.h>

#include "codegen/builder/builder.hpp"

namespace apsis::detail {

/// Bytes of the widest vector register that code for `isa` uses.
int vector_bytes_of(Isa isa);

/// A target machine for the lifetime of this object. They are kept for the next module: making one takes
/// longer than a small program.
class TargetLease {
 public:
  TargetLease(Isa isa, Level level);
  ~TargetLease();
  TargetLease(const TargetLease&) = delete;
  TargetLease& operator=(const TargetLease&) = delete;
  LLVMTargetMachineRef machine() const { return machine_; }

 private:
  Isa isa_;
  Level level_;  // that it was made for
  LLVMTargetMachineRef machine_;
};

}  // namespace apsis::detail
