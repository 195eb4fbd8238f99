#pragma once

// The matrices of a batch one by one, by several threads where that is worth it. What is computed of one does
// not depend on the others, nor on the threads.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/threads.hpp"

namespace apsis::detail {

/// In how many pieces, `most` at most, each matrix of a batch is shared out to threads that the batch alone
/// does not keep busy: `operations` for a matrix, of which some 50 microseconds are worth a thread.
inline std::int64_t pieces_of_matrix(std::int64_t batch, double operations, std::int64_t most) {
  constexpr double worth_a_thread = 4e6;
  const std::int64_t threads = machine_threads() / std::max<std::int64_t>(batch, 1),
                     worth = static_cast<std::int64_t>(std::min(operations / worth_a_thread, 1e3));
  return std::max<std::int64_t>(1, std::min({threads, worth, most}));
}

/// Calls run(i) for i in [0, count), each of which takes so many operations.
template <class Run>
void each_matrix(std::int64_t count, double operations, const Run& run) {
  constexpr double worth_a_thread = 5e5;  // some 20 to 50 microseconds
  constexpr std::int64_t most_parts = 64;
  const auto worth = static_cast<std::int64_t>(
      std::min(static_cast<double>(most_parts), static_cast<double>(count) * operations / worth_a_thread));
  const std::int64_t parts = std::clamp<std::int64_t>(worth, 1, std::max<std::int64_t>(count, 1));
  std::array<bool, most_parts> done{};
  const auto run_part = [&](std::int64_t part) {
    for (std::int64_t i = part * count / parts; i < (part + 1) * count / parts; ++i) run(i);
    done[static_cast<std::size_t>(part)] = true;
  };
  const auto try_part = [&](std::int64_t part) {
    try {
      run_part(part);
    } catch (...) {  // no memory: again below
    }
  };
  if (parts > 1) (void)share_out(parts, try_part);
  for (std::int64_t part = 0; part < parts; ++part)
    if (!done[static_cast<std::size_t>(part)]) run_part(part);
}

}  // namespace apsis::detail
