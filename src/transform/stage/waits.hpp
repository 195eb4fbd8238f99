#pragma once

#include <thread>

namespace apsis::detail {

/// This thread waiting for another that traces. Two threads that trace functions which call each other would
/// wait for ever: whoever would close such a circle does not wait.
class WaitFor {
 public:
  explicit WaitFor(std::thread::id owner);
  ~WaitFor();
  WaitFor(const WaitFor&) = delete;
  WaitFor& operator=(const WaitFor&) = delete;
  /// False where `owner` waits, by way of any number of others, for this thread.
  bool allowed() const { return allowed_; }

 private:
  bool allowed_ = true;
};

}  // namespace apsis::detail
