#include "transform/jit/check_captures.hpp"

#include "apsis/transform/check_captures.hpp"
#include "transform/stage/messages.hpp"
#include "transform/stage/trace_watch.hpp"

namespace apsis {
namespace {

/// The first lines in which two texts differ.
std::string first_difference(const std::string& a, const std::string& b) {
  auto line = [](const std::string& text, std::size_t begin) {
    std::size_t first = text.find_first_not_of(' ', begin);
    return first == std::string::npos ? std::string() : text.substr(first, text.find('\n', first) - first);
  };
  std::size_t begin = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size() && a[i] == b[i]; ++i)
    if (a[i] == '\n') begin = i + 1;
  return "`" + line(a, begin) + "` is `" + line(b, begin) + "` now";
}

}  // namespace

CheckCaptures::CheckCaptures() { ++detail::capture_checkers; }
CheckCaptures::~CheckCaptures() { --detail::capture_checkers; }

namespace detail {

constinit thread_local int capture_checkers = 0;

void check_captures(const JitEntry& entry, const JitCall& call, const char* name, const Checks& checks,
                    Loc loc) {
  const UncountedTraces comparing;
  EntryRef again = trace_entry(call, name, nullptr, checks, loc);
  if (!(again->graph == entry.graph))
    fail(messages::captures_changed,
         {name, first_difference(to_string(*entry.graph), to_string(*again->graph))}, loc);
  for (std::size_t i = 0; i < entry.captures.size(); ++i) {
    const Array &before = entry.captures[i], &now = again->captures[i];
    if (is_leaf<Array>::equal(before, now)) continue;
    fail(messages::captures_changed,
         {name, "the array v" + std::to_string(entry.graph->input_count() - entry.captures.size() + i) +
                    " of its program, which it uses from outside, was " + to_string(before) + " and is " +
                    to_string(now) + " now"},
         loc);
  }
}

}  // namespace detail
}  // namespace apsis
