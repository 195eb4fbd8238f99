#pragma once

// Runs checks in child processes: a program that crashes or never ends is reported like one that is wrong,
// with its seed, and the others go on.

#include <functional>

#include "compositions/check.hpp"

namespace apsis::compositions {

using Check = std::function<std::optional<Failure>(std::uint64_t seed, Tally& tally)>;

/// One check in a process of its own. A crash, or work for more than `seconds`, is a failure of
/// that kind.
std::optional<Failure> in_child(const std::function<std::optional<Failure>()>& check, double seconds);

/// What the check now does; a report of a crash says it.
void note_what_runs(const std::string& what);

struct Seeds {
  std::uint64_t first = 0, count = 0;
  double seconds = 0;     // no more are begun after that
  double one_limit = 60;  // of work, for one seed
  int workers = 1;
};
/// Checks seeds in child processes; `failed` is called in this one. Returns how many were checked.
std::uint64_t check_in_children(const Seeds& seeds, const Check& check,
                                const std::function<void(std::uint64_t, const Failure&)>& failed,
                                Tally& tally);

}  // namespace apsis::compositions
