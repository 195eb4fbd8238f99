#pragma once

namespace apsis::debug {

/// While it lives, every compilation in the process is written to the standard error: the program's
/// signature, its number of equations, bytes of code and time. (JAX: log_compiles.)
class LogCompiles {
 public:
  LogCompiles();
  ~LogCompiles();
  LogCompiles(const LogCompiles&) = delete;
  LogCompiles& operator=(const LogCompiles&) = delete;

 private:
  void* previous_;
};

}  // namespace apsis::debug
