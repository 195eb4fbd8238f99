#pragma once

// Who hears of traces: calls of counted functions in progress on this thread, and why the jitted functions
// around are being traced.

#include <string>
#include <vector>

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
  /// What was noted about the trace, each line once.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  friend void note_choice(std::string text);
  const char* name_;
  const std::string& reason_;
  std::vector<std::string> notes_;
  TraceNotice* outer_;
};

/// While it lives, what this thread traces is only to be compared with what it traced before: nothing counts
/// it.
class UncountedTraces {
 public:
  UncountedTraces();
  ~UncountedTraces();
  UncountedTraces(const UncountedTraces&) = delete;
  UncountedTraces& operator=(const UncountedTraces&) = delete;
};
bool traces_count();

/// A choice made while tracing, which `explain` tells with the trace in progress; lost where no jitted
/// function is being traced.
void note_choice(std::string text);

/// Whether what runs now is being staged, by jit or as the body of a loop or branch.
bool is_staging();

}  // namespace apsis::detail
