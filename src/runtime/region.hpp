#pragma once

#include <span>

#include "apsis/core/op.hpp"

namespace apsis::detail {

/// Runs one op with regions as a compiled program, found in the process-wide cache of staged regions. False
/// when it must be interpreted instead: `disable_jit` is on, or the reference evaluator is running.
bool run_compiled(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out);

/// How this thread runs programs: as machine code; by the reference evaluator, op by op; or not as programs
/// at all, each function being called as it is.
enum class RunMode : std::uint8_t { Compiled, Interpreted, Direct };
extern constinit thread_local RunMode run_mode [[gnu::tls_model("initial-exec")]];  // asked on every call
inline bool interpreting() { return run_mode != RunMode::Compiled; }
inline bool running_directly() { return run_mode == RunMode::Direct; }

/// While it lives, this thread runs programs in another way.
class InterpretScope {
 public:
  explicit InterpretScope(RunMode mode = RunMode::Interpreted) : previous_(run_mode) { run_mode = mode; }
  ~InterpretScope() { run_mode = previous_; }
  InterpretScope(const InterpretScope&) = delete;
  InterpretScope& operator=(const InterpretScope&) = delete;

 private:
  RunMode previous_;
};

}  // namespace apsis::detail
