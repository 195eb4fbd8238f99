#pragma once

// The matrices, or lines, of a batch by several threads where that is worth it. What is computed of one does
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

/// Calls run(first, end) for ranges that together are [0, count), and begin at multiples of `unit`: several
/// at once where each is worth a thread. One of [0, count) takes so many operations.
template <class Run>
void each_range(std::int64_t count, std::int64_t unit, double operations, const Run& run) {
  constexpr double worth_a_thread = 5e5;  // some 20 to 50 microseconds
  constexpr std::int64_t most_parts = 64;
  const std::int64_t units = (count + unit - 1) / unit;
  const auto worth = static_cast<std::int64_t>(
      std::min(static_cast<double>(most_parts), static_cast<double>(count) * operations / worth_a_thread));
  const std::int64_t parts =
      machine_threads() == 1 ? 1 : std::clamp<std::int64_t>(worth, 1, std::max<std::int64_t>(units, 1));
  std::array<bool, most_parts> done{};
  const auto run_part = [&](std::int64_t part) {
    run(part * units / parts * unit, std::min(count, (part + 1) * units / parts * unit));
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

/// Calls run(i) for i in [0, count), each of which takes so many operations.
template <class Run>
void each_matrix(std::int64_t count, double operations, const Run& run) {
  each_range(count, 1, operations, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) run(i);
  });
}

}  // namespace apsis::detail
