#pragma once

namespace apsis::detail {

/// Keeps the shared library that this address lies in, if it lies in one, until the process ends. Programs,
/// caches and errors go on using the user's functions, types and texts (names of files) after the call that
/// brought them, and a plugin may be closed at any time. Its `dlclose` then leaves it where it is, as it does
/// with libraries that hold unique symbols.
void keep_library(const void* address);

}  // namespace apsis::detail
