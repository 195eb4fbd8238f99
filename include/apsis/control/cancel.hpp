#pragma once

// Stopping a call from outside.
//
//   CancelToken token;                                   // shared with the thread that may stop the work
//   CancelScope scope(token);
//   auto solution = solve(model, t1);                    // throws Error soon after token.cancel()
//
//   InterruptScope interrupts;                           // Ctrl-C stops what this thread runs
//
// Compiled code looks at the token when it is called, and at every iteration of every loop, which costs
// nothing that can be measured. Between two loops, and in single calls of the linear algebra library, it runs
// on.

#include <cstdint>

namespace apsis {

/// Asks for calls to be stopped, from any thread or from a signal handler. It must outlive its scopes.
class CancelToken {
 public:
  /// Calls under a CancelScope of this token throw an Error soon, and so do later ones until `reset`.
  void cancel() noexcept;
  void reset() noexcept;
  bool cancelled() const noexcept;

 private:
  friend class CancelScope;
  std::uint32_t flag_ = 0;
};

/// While it lives, calls of this thread can be stopped by the token. The innermost scope counts.
class CancelScope {
 public:
  explicit CancelScope(CancelToken& token);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  const std::uint32_t* previous_;
};

/// While it lives, Ctrl-C (SIGINT) cancels a token, its own or the one given, and calls of this thread can be
/// stopped by it. The handler that was there before is put back at the end. Of nested scopes the innermost
/// gets the signal.
class InterruptScope {
 public:
  InterruptScope();
  explicit InterruptScope(CancelToken& token);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  CancelToken& token() { return token_; }

 private:
  void install();
  CancelToken own_;
  CancelToken& token_;
  CancelScope scope_;
  CancelToken* previous_token_ = nullptr;
  alignas(16) unsigned char previous_action_[256];  ///< struct sigaction
};

}  // namespace apsis
