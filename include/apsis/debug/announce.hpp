#pragma once

#include "apsis/core/array.hpp"

/// Printing, breakpoints and checks inside programs.
namespace apsis::debug {

/// `x` itself. Prints a line to the standard output each time a transformation comes by: staging, jvp,
/// transpose, vmap, a run of the program; so one sees in which order they act. (Equinox:
/// debug.announce_transform.)
Array announce_transform(const Array& x, const char* name = "x", Loc loc = Loc::here());

}  // namespace apsis::debug
