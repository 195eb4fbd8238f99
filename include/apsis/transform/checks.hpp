#pragma once

namespace apsis {

/// What a compiled program checks of its own ops while it runs: `jit(f, {.checks = {.nan = true}})`. A
/// program that fails a check throws, naming the op and the user's line; under vmap the lane too. What is not
/// asked for costs nothing.
struct Checks {
  /// Operations that give a NaN: the first one is named, in the order of the program.
  bool nan = false;
  /// Indices out of range, which otherwise are clamped, or give NaN.
  bool index = false;
  /// Divisions by zero, of integers and floats.
  bool division = false;

  static constexpr Checks all() { return {true, true, true}; }
  constexpr bool any() const { return nan || index || division; }
};

}  // namespace apsis
