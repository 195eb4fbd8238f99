#pragma once

namespace apsis::detail {

/// While it lives, code may be generated: the process does not end meanwhile. False once it ends, when what
/// LLVM keeps in static storage is being destroyed; programs then run by the reference evaluator.
class CodeLease {
 public:
  CodeLease();
  ~CodeLease();
  CodeLease(const CodeLease&) = delete;
  CodeLease& operator=(const CodeLease&) = delete;
  explicit operator bool() const { return given_; }

 private:
  bool given_;
};

/// Calls what ends the giving of leases when the process ends, before everything is destroyed that was made
/// in static storage until now.
void end_leases_at_exit();

}  // namespace apsis::detail
