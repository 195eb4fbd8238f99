#pragma once

namespace apsis::detail {

/// A T of each thread, made when it is first asked for and destroyed with the thread. What runs later on the
/// thread (destructors of other thread-locals, those of static objects on the main thread) gets another,
/// which is left to the end of the process. `Tag` tells those of one type apart.
template <class T, class Tag>
T& own_of_thread() {
  static constinit thread_local T* own = nullptr;
  static constinit thread_local bool ended = false;
  struct Closer {
    ~Closer() {
      ended = true;
      delete own;
      own = nullptr;
    }
  };
  if (!own) [[unlikely]] {
    if (!ended) {
      static thread_local Closer closer;
      (void)&closer;
    }
    own = new T();
  }
  return *own;
}

}  // namespace apsis::detail
