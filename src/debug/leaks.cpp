#include "apsis/debug/leaks.hpp"

#include <algorithm>

#include "apsis/core/op.hpp"
#include "debug/messages.hpp"

namespace apsis::debug {

namespace detail {

void report_leaks(const apsis::detail::TracerWatch& watch, Loc loc) {
  std::vector<apsis::detail::TracerWatch::Left> left = watch.left();
  // Those of transformations around the call still have their place.
  std::erase_if(left, [](const auto& l) {
    for (const Trace* t = current_trace(); t; t = t->parent())
      if (t->tag() == l.tag) return true;
    return false;
  });
  if (left.empty()) return;
  const auto& first = left.front();
  std::string place = first.loc.known()
                          ? "at " + std::string(first.loc.file) + ":" + std::to_string(first.loc.line)
                          : "at an unknown place";
  fail(messages::tracers_leaked, {std::to_string(left.size()), to_string(first.aval), place}, loc);
}

}  // namespace detail

std::vector<LiveArray> live_arrays() {
  std::vector<LiveArray> arrays;
  for (const Aval& aval : apsis::detail::live_avals())
    arrays.push_back({aval.dtype(), aval.shape(), aval.bytes()});
  return arrays;
}

}  // namespace apsis::debug
