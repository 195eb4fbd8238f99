#include "apsis/base/error.hpp"

#include <string_view>

#include "apsis/base/named_scope.hpp"
#include "base/place.hpp"

namespace apsis {
namespace {
thread_local Loc place;

/// `…/src/`, as the compiler names the library's own sources.
constexpr std::string_view own_sources =
    std::string_view(__FILE__).substr(0, std::string_view(__FILE__).rfind("base/error.cpp"));

std::string_view take_last(std::string_view& path) {
  const std::size_t slash = path.rfind('/');
  std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
  path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  return last;
}

bool is_room(std::string_view name) {
  for (std::string_view room :
       {"base", "tree", "core", "ir", "ops", "passes", "codegen", "runtime", "transform", "control", "array",
        "stats", "solve", "nn", "optim", "diffeq", "debug", "io", "train"})
    if (name == room) return true;
  return false;
}

/// Whether a file is the library's: one of its sources, or a header `apsis/<room>/<name>.hpp`, wherever it is
/// installed.
bool is_own(std::string_view file) {
  if (file.starts_with(own_sources)) {
    file.remove_prefix(own_sources.size());
    return is_room(file.substr(0, file.find('/')));
  }
  if (!file.ends_with(".hpp")) return false;
  take_last(file);
  const std::string_view room = take_last(file);
  return is_room(room) && take_last(file) == "apsis";
}

}  // namespace

Loc detail::current_place() { return place; }
Loc detail::users_place(Loc loc) {
  // Places of one function come one after the other: the last file is asked about again and again.
  thread_local const char* last = nullptr;
  thread_local bool own = false;
  if (!loc.known()) return place;
  if (loc.file != last) {
    own = is_own(loc.file);
    last = loc.file;
  }
  return own ? place : loc;
}
Loc detail::exchange_place(Loc to) {
  const Loc before = place;
  place = to;
  return before;
}

LocScope::LocScope(Loc loc) : previous_(detail::exchange_place(detail::users_place(loc))) {}
LocScope::~LocScope() { detail::exchange_place(previous_); }

std::string detail::filled_text(const Message& message, std::initializer_list<std::string> parts) {
  std::string text;
  for (const char* p = message.text; *p; ++p) {
    if (p[0] == '{' && p[1] >= '0' && p[1] <= '9' && p[2] == '}') {
      std::size_t index = static_cast<std::size_t>(p[1] - '0');
      APSIS_ASSERT(index < parts.size());
      text += parts.begin()[index];
      p += 2;
    } else {
      text += *p;
    }
  }
  return text;
}

void fail(const Message& message, std::initializer_list<std::string> arguments, Loc loc) {
  throw Error(message.id,
              detail::filled_text(message, arguments) + detail::place_text(detail::users_place(loc)));
}

namespace detail {

void rethrow_at(const Error& error, Loc loc) {
  loc = users_place(loc);
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
