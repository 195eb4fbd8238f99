#pragma once

namespace apsis {

/// While it lives, each call of a jitted function on this thread that finds a program traces the function
/// once more and throws if it would be another program now: what a lambda captured by reference has changed
/// since. Builds with assertions check every program so once, when it is first used again.
class CheckCaptures {
 public:
  CheckCaptures();
  ~CheckCaptures();
  CheckCaptures(const CheckCaptures&) = delete;
  CheckCaptures& operator=(const CheckCaptures&) = delete;
};

}  // namespace apsis
