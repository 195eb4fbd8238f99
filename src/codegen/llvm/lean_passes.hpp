#pragma once

#include <llvm-c/TargetMachine.h>

#include <cstddef>
#include <vector>

namespace apsis::detail {

/// The machine code of a module, made by those passes of LLVM's code generator that have something to do
/// here. Throws InternalError if the target has no objects.
std::vector<std::byte> emit_object(LLVMTargetMachineRef machine, LLVMModuleRef module);

}  // namespace apsis::detail
