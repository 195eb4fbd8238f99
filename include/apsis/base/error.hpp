#pragma once

#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

#include "apsis/base/loc.hpp"

namespace apsis {

/// One row of the message table: a stable id and a text in which {0}, {1}, … stand for the arguments of
/// `fail`. A text has four parts: where (`[dot]`), what (values, shapes), which (argument path), how to fix.
struct Message {
  const char* id;
  const char* text;
};

/// A mistake in the use of the library. `what()` is the whole message, the user's source line included.
class Error : public std::exception {
 public:
  Error(std::string id, std::string text)
      : id_(static_cast<std::string&&>(id)), text_(static_cast<std::string&&>(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  /// The row of the message table this error was made from.
  const char* id() const noexcept { return id_.c_str(); }

 private:
  std::string id_, text_;
};

/// A mistake of ours. Never thrown on purpose for bad input.
class InternalError : public std::exception {
 public:
  explicit InternalError(std::string text) : text_(static_cast<std::string&&>(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Throws `Error` with the message's text, with {0}, {1}, … filled in, and the user's place if it is known.
[[noreturn]] void fail(const Message& message, std::initializer_list<std::string> arguments, Loc loc = {});

namespace detail {
/// A message's text with {0}, {1}, … replaced by the parts.
std::string filled_text(const Message& message, std::initializer_list<std::string> parts);
/// How errors end: the user's place and the named scope, a line each, where they are known.
std::string place_text(Loc loc);
[[noreturn]] void internal_error(const char* condition, const char* file, int line);
}  // namespace detail

}  // namespace apsis

/// Checks an invariant of ours; a failure throws InternalError, which asks for a report.
#define APSIS_ASSERT(condition) \
  ((condition) ? void() : ::apsis::detail::internal_error(#condition, __FILE__, __LINE__))
