#pragma once

// Running lane programs: what the code of a map_lanes calls to share its lanes out to threads.

#include <atomic>
#include <cstdint>

#include "codegen/builder/abi.hpp"

namespace apsis::detail {

/// What lane programs of this process did since it started.
struct LaneCounts {
  std::atomic<std::int64_t> packet_steps{0};  // trips of a packet's loop, of all its lanes at once
  std::atomic<std::int64_t> refills{0};       // times that lanes at their end were replaced by others
  std::atomic<std::int64_t> chunks{0};
};
LaneCounts& lane_counts();

/// Lanes a chunk has, a multiple of the packet's width: the same throughout a process. Where lanes end up
/// does not show in their bits.
std::int64_t lanes_per_chunk(std::int64_t lanes, std::int64_t width);

}  // namespace apsis::detail

extern "C" {
/// Runs `chunk` on all of [0, lanes), each chunk with `scratch_bytes` of its own. Returns the Status of the
/// first chunk, by its place, that failed.
std::int32_t apsis_run_lanes(apsis::detail::CallContext* context, apsis::detail::Chunk chunk, void* arguments,
                             std::int64_t lanes, std::int64_t width, std::int64_t scratch_bytes,
                             std::int64_t parallel) noexcept;
void apsis_count_lanes(std::int64_t packet_steps, std::int64_t refills) noexcept;
}
