#pragma once

#include "codegen/compile.hpp"

namespace apsis::detail {

/// The process-wide cache of compiled graphs: found by hash, verified by equality, so that a function traced
/// again (temporaries, eager loops) is not compiled again. One compile a graph, while other threads that need
/// it wait. Bounded: the least recently used programs go, those in use live on with their users.
std::shared_ptr<const Program> program_for(const GraphRef& graph);

/// Programs compiled in this process so far, for tests that count.
std::int64_t compile_count();
void clear_program_cache();

}  // namespace apsis::detail
