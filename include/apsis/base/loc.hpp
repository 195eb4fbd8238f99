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

/// While it lives, what is bound on this thread without a place of its own has this one, and so have errors:
/// rules give the ops they bind the place of the op they belong to, functions give what they call that of
/// their user. An unknown place changes nothing.
class LocScope {
 public:
  explicit LocScope(Loc loc);
  ~LocScope();
  LocScope(const LocScope&) = delete;
  LocScope& operator=(const LocScope&) = delete;

 private:
  Loc previous_;
};

}  // namespace apsis
