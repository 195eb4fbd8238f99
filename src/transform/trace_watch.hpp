#pragma once

// Who hears of traces: calls of counted functions in progress on this thread, and why the jitted functions
// around are being traced.

#include <string>

namespace apsis::detail {

/// A call in progress that wants to know of the first trace within it.
class TraceWatch {
 public:
  TraceWatch();
  TraceWatch(const TraceWatch&) = delete;
  TraceWatch& operator=(const TraceWatch&) = delete;

 protected:
  ~TraceWatch();
  /// Before the function is traced; may throw to prevent it.
  virtual void on_trace() = 0;

 private:
  friend class TraceNotice;
  TraceWatch* outer_;
};

/// Lives as long as a jitted function is being traced on this thread. Tells the watches first.
class TraceNotice {
 public:
  /// `reason`: what differs from earlier calls.
  TraceNotice(const char* name, const std::string& reason);
  ~TraceNotice();
  TraceNotice(const TraceNotice&) = delete;
  TraceNotice& operator=(const TraceNotice&) = delete;

  /// The innermost one; null where no jitted function is being traced.
  static const TraceNotice* current();
  const char* name() const { return name_; }
  const std::string& reason() const { return reason_; }

 private:
  const char* name_;
  const std::string& reason_;
  TraceNotice* outer_;
};

/// Whether what runs now is being staged, by jit or as the body of a loop or branch.
bool is_staging();

}  // namespace apsis::detail
