#pragma once

// A solution in words.
//
//   std::cout << sol;        // or to_string(sol)

#include <string>

#include "apsis/diffeq/solve.hpp"
#include "apsis/tree/path.hpp"

namespace apsis {
namespace detail {

/// What the text needs of a solution: all but the type of its state.
struct SolutionText {
  const Array& result;
  const SolveStats& stats;
  const Array &mask, &counts;  // of events
  std::vector<std::string> time_names, names;
  std::vector<Array> ts, ys;  // ts: one for each request of what to save
};
std::string text_of(const SolutionText& s);

}  // namespace detail

/// How a solve ended, in how many steps, and what was saved of it: a few lines. Of many solves (under vmap)
/// how many ended in which way. What is traced has no values yet: then shapes alone.
template <class Y, class Ys, class Ts>
std::string to_string(const Solution<Y, Ys, Ts>& s) {
  return detail::text_of({s.result, s.stats, s.events.mask, s.events.counts, tree_paths(s.ts, "ts"),
                          tree_paths(s.ys, "ys"), tree_leaves(s.ts), tree_leaves(s.ys)});
}
/// The same on a stream.
template <detail::TextStream Stream, class Y, class Ys, class Ts>
Stream& operator<<(Stream& stream, const Solution<Y, Ys, Ts>& solution) {
  stream << to_string(solution).c_str();
  return stream;
}
/// The name of a result, such as "MaxStepsReached".
std::string to_string(SolveResult result);

}  // namespace apsis
