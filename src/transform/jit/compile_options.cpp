#include "transform/jit/compile_options.hpp"

#include "base/threads.hpp"
#include "transform/stage/messages.hpp"

namespace apsis::detail {

CodegenOptions codegen_options(const CompileOptions& options) {
  constexpr int most_lanes = 64;  // a mask of lanes is one word
  if (options.lanes < 0 || options.lanes > most_lanes || (options.lanes & (options.lanes - 1)))
    fail(messages::compile_lanes, {std::to_string(options.lanes)});
  if (options.level < -1 || options.level > static_cast<int>(Level::Aggressive))
    fail(messages::compile_level, {std::to_string(options.level)});
  CodegenOptions made;
  made.lanes = options.lanes;
  made.level = options.level;
  // Where there is one thread, sums are faster as a whole: parts read memory in another order.
  made.parallel = options.threads && machine_threads() > 1;
  return made;
}

}  // namespace apsis::detail
