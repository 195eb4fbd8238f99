#pragma once

namespace apsis::detail {

/// While it lives, the process does not end, so that code may be generated and libraries opened. False once
/// it ends, when objects in static storage are being destroyed: programs then run by the reference evaluator,
/// and `dlopen` would construct such objects a second time.
class ExitLease {
 public:
  ExitLease();
  ~ExitLease();
  ExitLease(const ExitLease&) = delete;
  ExitLease& operator=(const ExitLease&) = delete;
  explicit operator bool() const { return given_; }

 private:
  bool given_;
};

/// Calls what ends the giving of leases when the process ends, before everything is destroyed that was made
/// in static storage until now.
void end_leases_at_exit();

}  // namespace apsis::detail
