#pragma once

// Prints from inside transformed and compiled functions.
//
//   debug::print("x = {}, loss {loss:.4f}", x, debug::arg("loss", loss));
//
// Lines come in program order, one for each pass: in loops one an iteration, under vmap one a lane where an
// argument is mapped (name the axis and print axis_index("i") to tell them apart), under grad once, from the
// forward pass.

#include <span>

#include "apsis/control/callback.hpp"

namespace apsis::debug {

/// A format with the place of the call. `{}` is the next argument, `{2}` the third, `{name}` a named one;
/// `{:8.3f}` gives width, precision and one of f, e, g for every element, or part of a complex one; `{{` and
/// `}}` are braces.
struct Format {
  const char* text;
  Loc loc;
  Format(const char* format, Loc where = Loc::here()) : text(format), loc(where) {}
};

/// An argument of `debug::print`: an array or a scalar, with a name or without.
struct Argument {
  const char* name = "";
  Array value;
  Argument(const Array& a) : value(a) {}
  Argument(const char* n, const Array& a) : name(n), value(a) {}
  template <apsis::detail::Scalar T>
  Argument(T scalar) : value(scalar) {}
};
/// An argument with a name.
inline Argument arg(const char* name, const Array& value) { return {name, value}; }

namespace detail {
void print_call(const Format& format, std::span<const Argument> arguments, bool ordered);
/// The line, from concrete values in the order of the arguments.
std::string format_line(const std::string& text, std::span<const std::string> names,
                        std::span<const Array> values);
}  // namespace detail

/// Prints a line to the standard output when the program comes by. Throws if the format does not fit the
/// arguments.
template <class... A>
void print(const Format& format, const A&... arguments) {
  const Argument all[] = {arguments..., Argument(Array())};
  detail::print_call(format, {all, sizeof...(A)}, false);
}
/// The same, refused where there is no one order: under vmap of a mapped argument, and in lanes.
template <class... A>
void ordered_print(const Format& format, const A&... arguments) {
  const Argument all[] = {arguments..., Argument(Array())};
  detail::print_call(format, {all, sizeof...(A)}, true);
}

/// `f`, which returns nothing, called by the host with concrete arguments: see io_callback.
template <class F>
auto callback(F f, Loc loc = Loc::here()) {
  return io_callback(static_cast<F&&>(f), IoCallbackOptions{.name = "debug::callback"}, loc);
}

}  // namespace apsis::debug
