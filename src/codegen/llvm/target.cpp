#include "codegen/llvm/target.hpp"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>
#include <string>
#include <vector>

#include "apsis/base/error.hpp"
#include "base/processor.hpp"

namespace apsis::detail {
namespace {

struct Cpu {
  std::string name, features;
};

// valgrind knows no AVX-512. Code for it is the same on any processor, so that it may be kept by a run
// without.
#ifdef APSIS_VALGRIND
constexpr bool any_processor = true;
#else
constexpr bool any_processor = false;
#endif

bool machine_has_avx512() { return !any_processor && has_avx512(); }

Cpu cpu_of(Isa isa) {
  if (isa == Isa::Avx2 || any_processor) return {"x86-64-v3", ""};
  char* name = LLVMGetHostCPUName();
  char* features = LLVMGetHostCPUFeatures();
  Cpu cpu{name, features};
  LLVMDisposeMessage(name);
  LLVMDisposeMessage(features);
  return cpu;
}

struct Pool {
  std::mutex mutex;
  std::vector<LLVMTargetMachineRef> idle[3][4];  // by isa and `made_for`
  LLVMTargetRef target = nullptr;
  Cpu cpus[3];

  Pool() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    char* error = nullptr;
    if (LLVMGetTargetFromTriple("x86_64-unknown-linux-gnu", &target, &error)) {
      std::string text = error;
      LLVMDisposeMessage(error);
      throw InternalError("code generation has no x86-64 target: " + text);
    }
    for (Isa isa : {Isa::Native, Isa::Avx2, Isa::Avx512}) cpus[static_cast<int>(isa)] = cpu_of(isa);
  }
};

// Left to the end of the process: threads may compile while static objects are destroyed.
Pool& pool() {
  static Pool* const the_pool = new Pool;
  return *the_pool;
}

/// The level that a machine is made for. None and Less share theirs, so that the first loop of a process does
/// not wait for another one and its tables of the processor: two milliseconds. From Default on LLVM's tables
/// depend on the level.
Level made_for(Level level) { return level == Level::None ? Level::Less : level; }

/// LLVM's C interface cannot do this.
void set_level(LLVMTargetMachineRef machine, Level level) {
  auto* target = reinterpret_cast<llvm::TargetMachine*>(machine);
  target->setOptLevel(static_cast<decltype(target->getOptLevel())>(level));
  target->setFastISel(level == Level::None);
}

}  // namespace

int vector_bytes_of(Isa isa) {
  static const bool wide = machine_has_avx512();
  if (isa == Isa::Avx512 && !wide) throw InternalError("this machine has no AVX-512");
  return isa != Isa::Avx2 && wide ? 64 : 32;
}

TargetLease::TargetLease(Isa isa, Level level) : isa_(isa), level_(made_for(level)) {
  Pool& p = pool();
  {
    std::scoped_lock lock(p.mutex);
    auto& idle = p.idle[static_cast<int>(isa)][static_cast<int>(level_)];
    if (!idle.empty()) {
      machine_ = idle.back();
      idle.pop_back();
      set_level(machine_, level);
      return;
    }
  }
  static_assert(static_cast<int>(Level::Aggressive) == LLVMCodeGenLevelAggressive);
  const Cpu& cpu = p.cpus[static_cast<int>(isa)];
  machine_ =
      LLVMCreateTargetMachine(p.target, "x86_64-unknown-linux-gnu", cpu.name.c_str(), cpu.features.c_str(),
                              static_cast<LLVMCodeGenOptLevel>(level_), LLVMRelocPIC, LLVMCodeModelSmall);
  if (!machine_) throw InternalError("no target machine for " + cpu.name);
  set_level(machine_, level);
}

TargetLease::~TargetLease() {
  Pool& p = pool();
  std::scoped_lock lock(p.mutex);
  p.idle[static_cast<int>(isa_)][static_cast<int>(level_)].push_back(machine_);
}

}  // namespace apsis::detail
