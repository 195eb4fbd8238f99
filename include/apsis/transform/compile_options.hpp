#pragma once

namespace apsis {

/// How to compile a program. The results are the same, bit for bit, whatever is chosen; only the time to
/// compile and the time to run differ. What is not set is decided for each program by its loops and sizes.
struct CompileOptions {
  /// Elements that one pass of a loop over arrays takes, and lanes that one packet of a vmapped loop takes: a
  /// power of two up to 64; 0: as many as a vector register holds.
  int lanes = 0;
  /// How hard code generation tries, from 0 (compiles fastest) to 3 (may run fastest); -1: 0 for
  /// straight-line code on small arrays, 1 for programs with loops or large arrays.
  int level = -1;
  /// Whether the lanes of a vmapped loop may be shared out to threads.
  bool threads = true;
};

}  // namespace apsis
