#pragma once

#include <span>

#include "apsis/core/op.hpp"

namespace apsis::detail {

/// Runs one op with regions as a compiled program, found in the process-wide cache of staged regions. False
/// when it must be interpreted instead: `disable_jit` is on, or the reference evaluator is running.
bool run_compiled(const Op& op, const Params& params, std::span<const Array> in, std::span<Array> out);

/// While it lives, this thread interprets loops and branches op by op: the reference evaluator, and
/// `disable_jit`.
class InterpretScope {
 public:
  InterpretScope();
  ~InterpretScope();
  InterpretScope(const InterpretScope&) = delete;
  InterpretScope& operator=(const InterpretScope&) = delete;

 private:
  bool previous_;
};
extern constinit thread_local bool interpret_all [[gnu::tls_model("initial-exec")]];  // asked on every call
inline bool interpreting() { return interpret_all; }

}  // namespace apsis::detail
