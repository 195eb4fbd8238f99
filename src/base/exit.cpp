#include "base/exit.hpp"

#include <pthread.h>
#include <unistd.h>

#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

namespace apsis::detail {
namespace {

constinit thread_local int given_here = 0;

struct Leases {
  std::mutex mutex;
  std::condition_variable returned;
  int given = 0;
  std::uint64_t so_far = 0;
  bool ended = false;
};
alignas(Leases) std::byte storage[sizeof(Leases)];

/// In a child made by `fork` there is this thread only, whatever the others were doing.
void make_anew() {
  new (storage) Leases;
  reinterpret_cast<Leases*>(storage)->given = given_here;
}

Leases& leases() {
  static Leases* const made = [] {
    pthread_atfork(nullptr, nullptr, make_anew);
    return new (storage) Leases;  // never destroyed: threads ask until the last moment
  }();
  return *made;
}

void end_leases() {
  Leases& l = leases();
  std::unique_lock lock(l.mutex);
  l.ended = true;
  // (This thread holds one if a listener that was told of a compile ends the process.)
  l.returned.wait(lock, [&] { return l.given == given_here; });
}

// `exit` destroys the thread-locals of its thread before anything else: what is registered then is called
// first, before whatever LLVM made in a compile that is under way. (Where another thread than the main one
// calls `exit`, what was registered after compiles is called.)
struct AtEndOfMainThread {
  ~AtEndOfMainThread() { end_leases_at_exit(); }
};
[[gnu::constructor]] void watch_main_thread() {
  if (gettid() != getpid()) return;
  static thread_local AtEndOfMainThread watch;
  (void)&watch;
}

}  // namespace

ExitLease::ExitLease() {
  Leases& l = leases();
  std::scoped_lock lock(l.mutex);
  given_ = !l.ended;
  if (!given_) return;
  ++l.given;
  ++given_here;
}

ExitLease::~ExitLease() {
  if (!given_) return;
  Leases& l = leases();
  std::unique_lock lock(l.mutex);
  --l.given;
  --given_here;
  l.returned.notify_all();
  // LLVM makes static objects as it meets what needs them, and what was made last is destroyed first.
  const bool again = std::has_single_bit(++l.so_far) && !l.ended;
  lock.unlock();
  if (again) end_leases_at_exit();
}

void end_leases_at_exit() { std::atexit(end_leases); }

}  // namespace apsis::detail
