#pragma once

namespace apsis {

/// A place in the user's source. Functions take `Loc loc = Loc::here()` so that errors name the caller's
/// line.
struct Loc {
  const char* file = "";
  const char* function = "";
  unsigned line = 0;

  static constexpr Loc here(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
                            unsigned line = __builtin_LINE()) {
    return {file, function, line};
  }
  constexpr bool known() const { return line != 0; }
};

}  // namespace apsis
