#pragma once

// For rooms that call libraries of others; not part of apsis.hpp.

namespace apsis::detail {

/// A library of others, opened when something of it is first called. A process that calls nothing of it does
/// not pay for opening it, and names of what is opened later are not looked for in it.
class OutsideLibrary {
 public:
  /// `file` as the dynamic linker finds it, by the directories that this library names.
  constexpr explicit OutsideLibrary(const char* file) : file_(file) {}
  /// Throws if the library or the function is not there.
  void* find(const char* function) const;

 private:
  const char* file_;
};

}  // namespace apsis::detail

/// `function`, which is declared but not linked, of the OutsideLibrary `library`; looked for once at each
/// place.
#define APSIS_FROM(library, function)                                                            \
  (*[] {                                                                                         \
    static auto* const found = reinterpret_cast<decltype(&function)>((library).find(#function)); \
    return found;                                                                                \
  }())
