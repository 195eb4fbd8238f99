#include "apsis/base/error.hpp"

#include <string_view>

#include "apsis/base/named_scope.hpp"
#include "base/place.hpp"

namespace apsis {
namespace {
thread_local Loc place;

/// Whether the file is one of the library's: in a room beside the one that this file is in.
bool is_own_source(std::string_view file) {
  constexpr std::string_view here = __FILE__, own = "base/error.cpp";
  static_assert(here.size() >= own.size());
  constexpr std::string_view rooms = here.substr(0, here.size() - own.size());
  if (!file.starts_with(rooms)) return false;
  file.remove_prefix(rooms.size());
  for (std::string_view room : {"control/", "diffeq/", "nn/", "ops/", "optim/", "solve/", "transform/"})
    if (file.starts_with(room)) return true;
  return false;
}
}  // namespace

Loc detail::current_place() { return place; }
Loc detail::user_place(Loc loc) {
  return !loc.known() || (place.known() && is_own_source(loc.file)) ? place : loc;
}
Loc detail::exchange_place(Loc to) {
  const Loc before = place;
  place = to;
  return before;
}

void fail(const Message& message, std::initializer_list<std::string> arguments, Loc loc) {
  std::string text;
  for (const char* p = message.text; *p; ++p) {
    if (p[0] == '{' && p[1] >= '0' && p[1] <= '9' && p[2] == '}') {
      std::size_t index = static_cast<std::size_t>(p[1] - '0');
      APSIS_ASSERT(index < arguments.size());
      text += arguments.begin()[index];
      p += 2;
    } else {
      text += *p;
    }
  }
  throw Error(message.id, text + detail::place_text(detail::user_place(loc)));
}

namespace detail {

void rethrow_at(const Error& error, Loc loc) {
  const std::string text = error.what();
  if (!loc.known() || text.find("\n  at ") != std::string::npos) throw;
  throw Error(error.id(), text.substr(0, text.find("\n  in scope ")) + place_text(loc));
}

std::string place_text(Loc loc) {
  std::string text;
  if (loc.known())
    text = std::string("\n  at ") + loc.file + ':' + std::to_string(loc.line) + " in " + loc.function;
  if (const char* scope = current_scope()) text += std::string("\n  in scope ") + scope;
  return text;
}

void internal_error(const char* condition, const char* file, int line) {
  throw InternalError(std::string("apsis: internal error, please report it: `") + condition +
                      "` does not hold at " + file + ":" + std::to_string(line));
}

}  // namespace detail
}  // namespace apsis
