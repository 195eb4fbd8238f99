#pragma once

// Reading a table without locks while others take entries out of it: hazard pointers (Michael, "Hazard
// pointers: safe memory reclamation for lock-free objects", IEEE TPDS 15(6), 2004). A thread announces the
// table before it looks in it, and what it found before it uses that; who takes an entry out frees it when no
// thread announces it any more.

#include "apsis/transform/jit_call.hpp"

namespace apsis::detail {

extern constinit thread_local InUse* in_use_if_any [[gnu::tls_model("initial-exec")]];
InUse& take_in_use();
/// This thread's announcements.
inline InUse& in_use_here() { return in_use_if_any ? *in_use_if_any : take_in_use(); }

/// Announcing must be seen before what follows is read. Where the kernel can make all threads pass a barrier,
/// whoever frees pays for that, and announcing is a plain store; elsewhere it is a fence. Either way it
/// releases: who sees that a thread announces something else also sees that it is done with what it announced
/// before.
extern bool barriers_from_outside;
inline void announce(std::atomic<const void*>& slot, const void* what) {
  if (barriers_from_outside) {
    slot.store(what, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    slot.store(what, std::memory_order_seq_cst);
  }
}

/// An object that was taken out of its table.
struct Retired {
  void* object;
  void (*release)(void* object);
};
/// Releases these, and any retired before, as soon as no thread announces them: at once, or at a later call.
/// Waits for the threads that are looking in `table` just now. Call without locks.
void retire(const void* table, std::vector<Retired> objects);

}  // namespace apsis::detail
