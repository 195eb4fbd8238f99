#pragma once

// Loops and branches where compilation is off (see DisableJit): condition, body and branches run on the
// values themselves, so that a debugger, a print or an `if` in them sees what is there.

#include "apsis/transform/function.hpp"

namespace apsis::detail {

/// Whether compilation is off, and nothing around is being staged.
bool runs_directly();
/// A boolean's value, or nothing where it is not known yet (under vmap).
std::optional<bool> known_truth(const Array& predicate);
/// The branch to run, of `count`; nothing where compilation is on or the index is not known.
std::optional<std::size_t> branch_to_run(const Array& index, std::size_t count);
[[noreturn]] void fail_max_steps(std::int64_t max_steps, Loc loc);
/// Entry `i` of arrays stacked along axis 0.
std::vector<Array> entries_at(std::span<const Array> stacked, std::int64_t i);
/// The reverse: entries[i][k] is entry i of array k.
std::vector<Array> stack_entries(const std::vector<std::vector<Array>>& entries);

/// Nothing where a condition is not known: then the loop must be staged. `report` is told how many iterations
/// were made.
template <class T, class Test, class Step, class Report>
std::optional<T> while_directly(const Test& test, const Step& step, T state, std::int64_t max_steps,
                                const Report& report, Loc loc) {
  for (std::int64_t steps = 0;; ++steps) {
    std::optional<bool> go = known_truth(test(state));
    if (!go) return std::nullopt;
    if (!*go) return state;
    if (max_steps >= 0 && steps == max_steps) fail_max_steps(max_steps, loc);
    state = step(state);
    report(steps + 1);
  }
}

/// At least one entry, unless there are no ys.
template <class Step, class C, class Xs, class Report>
auto scan_directly(const Step& step, C carry, const Xs& xs, std::span<const Array> stacked,
                   std::int64_t length, bool reverse, const Report& report) {
  using Y = std::decay_t<decltype(step(carry, xs).second)>;
  std::vector<std::vector<Array>> rows(static_cast<std::size_t>(length));
  std::optional<Y> last;
  if constexpr (std::is_empty_v<Y>) last.emplace();
  for (std::int64_t k = 0; k < length; ++k) {
    std::int64_t i = reverse ? length - 1 - k : k;
    auto result = step(carry, with_leaves(xs, entries_at(stacked, i)));
    carry = C(result.first);
    collect_leaves(result.second, rows[static_cast<std::size_t>(i)]);
    last.emplace(result.second);
    report(k + 1);
  }
  return std::pair(carry, with_leaves(*last, stack_entries(rows)));
}

}  // namespace apsis::detail
