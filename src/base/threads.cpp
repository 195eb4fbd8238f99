#include "base/threads.hpp"

#include <immintrin.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>

namespace apsis::detail {
namespace {

/// The caller's rounding and denormal modes for the time of a task.
class FloatModes {
 public:
  explicit FloatModes(unsigned modes) : previous_(_mm_getcsr()) { _mm_setcsr(modes); }
  ~FloatModes() { _mm_setcsr(previous_); }
  FloatModes(const FloatModes&) = delete;
  FloatModes& operator=(const FloatModes&) = delete;

 private:
  unsigned previous_;
};

// Orders the calls after what the caller did, and before what it does next. The scheduler does so too, but
// inside a library that the thread sanitizer cannot see into. (It is no local: a thread that looks for one in
// the body below has read what is to be ordered.)
std::atomic<std::int64_t> order{0};

}  // namespace

std::int64_t machine_threads() {
  static const std::int64_t threads = tbb::info::default_concurrency();
  return threads;
}

bool share_out(std::int64_t count, void (*body)(const void* state, std::int64_t i), const void* state) {
  const unsigned modes = _mm_getcsr();
  const auto ordered = [&](std::int64_t i) {
    order.load(std::memory_order_acquire);
    const FloatModes of_caller(modes);
    body(state, i);
    order.fetch_add(1, std::memory_order_release);
  };
  order.fetch_add(0, std::memory_order_release);
  bool shared_out = true;
  try {
    // Isolated: while this thread waits it must not take up work of others, which might trace or compile.
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::int64_t{0}, count, ordered); });
  } catch (...) {  // no thread to be had, or no memory for tasks
    shared_out = false;
  }
  order.load(std::memory_order_acquire);
  return shared_out;
}

}  // namespace apsis::detail
