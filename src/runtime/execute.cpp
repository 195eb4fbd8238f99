#include "runtime/execute.hpp"

#include <new>

#include "codegen/support/cancel.hpp"
#include "core/memory.hpp"
#include "core/undefined_memory.hpp"

namespace apsis::detail {
namespace {

// One block a thread, lent to the outermost call that fits; calls within calls (kernels, callbacks) take
// blocks of their own.
constexpr std::size_t kept_bytes = std::size_t{1} << 20;
struct ThreadScratch {
  void* block = nullptr;
  bool lent = false;
};
constinit thread_local ThreadScratch thread_scratch [[gnu::tls_model("initial-exec")]];

struct ScratchCloser {
  ~ScratchCloser() {
    thread_scratch.lent = true;  // what still runs on this thread takes blocks of its own
    free_block(thread_scratch.block, kept_bytes);
  }
};

void make_thread_scratch() {
  static thread_local ScratchCloser closer;
  thread_scratch.block = allocate_block(kept_bytes);
}

class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : bytes_(bytes) {
    if (bytes <= kept_bytes && !thread_scratch.lent) {
      if (!thread_scratch.block) make_thread_scratch();
      thread_scratch.lent = from_thread_ = true;
      data = thread_scratch.block;
      mark_undefined(data, bytes);
    } else {
      data = allocate_block(bytes);
    }
  }
  ~Scratch() {
    if (from_thread_)
      thread_scratch.lent = false;
    else
      free_block(data, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data;

 private:
  std::size_t bytes_;
  bool from_thread_ = false;
};

[[gnu::always_inline]] inline void enter(const Program& program, const Graph& graph, void* scratch,
                                         const void* const* in, void* const* out) {
  CallState state;
  state.graph = &graph;
  CallContext context{scratch, cancel_flag, program.kernels.data(), &state};
  raise(static_cast<Status>(program.entry(&context, in, out)), state);
}

[[gnu::noinline]] void enter_with_scratch(const Program& program, const Graph& graph, const void* const* in,
                                          void* const* out) {
  const Scratch scratch(static_cast<std::size_t>(program.scratch_bytes));
  enter(program, graph, scratch.data, in, out);
}

}  // namespace

void execute(const Program& program, const Graph& graph, const void* const* in, void* const* out) try {
  poll_cancelled();
  if (program.scratch_bytes > 0)
    enter_with_scratch(program, graph, in, out);
  else
    enter(program, graph, nullptr, in, out);
} catch (const std::bad_alloc&) {
  fail_memory(program, graph);
}

std::vector<Array> execute(const Program& program, const Graph& graph, std::span<const Array> inputs) {
  std::vector<const void*> in;
  std::vector<void*> out;
  std::vector<Array> results;
  for (const Array& a : inputs) in.push_back(data_of(a));
  for (const Aval& aval : program.outputs) {
    results.push_back(allocate(aval));
    out.push_back(mutable_data<void>(results.back()));
  }
  execute(program, graph, in.data(), out.data());
  return results;
}

}  // namespace apsis::detail
