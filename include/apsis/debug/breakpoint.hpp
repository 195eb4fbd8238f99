#pragma once

// A stop in the middle of a compiled program.
//
//   debug::breakpoint_if(any(isnan(x)), x, loss);     // under a debugger: stops here, with the values
//   printed

#include "apsis/control/cond.hpp"
#include "apsis/debug/print.hpp"
#include "apsis/ops/reduce.hpp"

namespace apsis::debug {

/// What a breakpoint does: gets its text, the values included. The default prints it to the standard error
/// and, under a debugger, stops the program as a breakpoint set there would.
using BreakpointHandler = void (*)(const char* text);
/// Sets the handler of the process (null: the default) and returns the one before.
BreakpointHandler on_breakpoint(BreakpointHandler handler);

namespace detail {
void reach_breakpoint(const char* place, std::span<const Array> values);
}

/// Where an element of `condition` holds, when the program comes by: prints the values and stops under a
/// debugger. Works in compiled code; lanes of a vmap stop each for itself.
template <class... A>
void breakpoint_if(const Array& condition, const A&... values) {
  auto stop =
      io_callback([](const std::vector<Array>& seen) { detail::reach_breakpoint("breakpoint_if", seen); },
                  IoCallbackOptions{.name = "debug::breakpoint_if"});
  cond(
      any(condition),
      [&](const std::vector<Array>& seen) {
        stop(seen);
        return std::tuple<>();
      },
      [](const std::vector<Array>&) { return std::tuple<>(); }, std::vector<Array>{Array(values)...});
}

}  // namespace apsis::debug
