#pragma once

#include "codegen/compile/compile.hpp"

namespace apsis::detail {

/// The process-wide cache of compiled graphs: found by hash, verified by equality, so that a function traced
/// again (temporaries, eager loops) is not compiled again. One compile a graph and options, while other
/// threads that need it wait; published only after success. Looks on disk before it compiles
/// (`disk_cache.hpp`). Null when the process ends and no code is generated any more. Bounded: the least
/// recently used programs go, those in use live on with their users.
std::shared_ptr<const Program> program_for(const GraphRef& graph, const CodegenOptions& options = {});

/// Programs for which this process has generated code so far, for tests that count.
std::int64_t compile_count();

struct ProgramCacheCounts {
  std::int64_t held, limit;       // programs now, at most
  std::int64_t compiled, loaded;  // so far: by generating code, from disk
};
ProgramCacheCounts program_cache_counts();
/// Keeps at most this many programs from now on; at least one.
void set_program_limit(std::int64_t programs);
/// Forgets all programs but those being compiled.
void clear_program_cache();

}  // namespace apsis::detail
