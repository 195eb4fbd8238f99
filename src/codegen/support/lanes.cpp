#include "codegen/support/lanes.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/threads.hpp"
#include "codegen/support/kernels.hpp"
#include "core/memory.hpp"

namespace apsis::detail {

LaneCounts& lane_counts() {
  static LaneCounts counts;
  return counts;
}

std::int64_t lanes_per_chunk(std::int64_t lanes, std::int64_t width) {
  // A packet that runs out of lanes to load ends with slots at rest: chunks are several packets long. Beyond
  // that, enough chunks that threads end at about the same time.
  if (width == 1) return std::max<std::int64_t>(1, lanes / 64);
  const std::int64_t some = std::clamp(lanes / 8, 4 * width, std::max<std::int64_t>(16 * width, lanes / 64));
  if (lanes > some) return (some + width - 1) / width * width;
  // What would be one chunk is shared out to threads that else were idle.
  const std::int64_t packets = std::max<std::int64_t>(1, (lanes + width - 1) / width),
                     sharers = std::min(machine_threads(), packets);
  return (packets + sharers - 1) / sharers * width;
}

namespace {

struct Scratch {
  void* data;
  std::size_t bytes;
  explicit Scratch(std::int64_t n)
      : data(allocate_block(static_cast<std::size_t>(n))), bytes(static_cast<std::size_t>(n)) {}
  ~Scratch() { free_block(data, bytes); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

struct Outcome {
  std::int32_t status = 0;
  bool done = false;
  std::exception_ptr error;
};

/// The lanes of a call, in chunks.
struct Lanes {
  CallContext* context;
  Chunk chunk;
  void* arguments;
  std::int64_t lanes, width, scratch_bytes;

  std::int64_t each() const { return lanes_per_chunk(lanes, width); }
  std::int64_t chunks() const { return (lanes + each() - 1) / each(); }
  Outcome run(std::int64_t number) const noexcept;
};

Outcome Lanes::run(std::int64_t number) const noexcept {
  Outcome outcome{.done = true};
  try {
    auto& state = *static_cast<CallState*>(context->runtime);
    const Scratch scratch(scratch_bytes);
    CallState own;
    own.call = state.call ? state.call : &state;
    CallContext inner = *context;
    inner.scratch = scratch.data;
    inner.runtime = &own;
    inner.lanes = nullptr;
    inner.slot = 0;
    inner.nest = nullptr;
    inner.outer = context;
    const std::int64_t first = number * each();
    std::int64_t last = std::min(lanes, first + each());
    outcome.status = chunk(&inner, arguments, first, last);
    outcome.error = own.error;
    // The lanes of a packet end in any order: the lowest lane that fails is found by running those below
    // again. Packets call no function of the host but for reports of progress, so nothing else is seen
    // twice.
    while (width > 1 && own.failed_lane > first) {
      last = std::exchange(own.failed_lane, -1);
      if (!chunk(&inner, arguments, first, last)) break;
      outcome.error = own.error;
    }
  } catch (...) {  // no memory
    outcome.status = static_cast<std::int32_t>(Status::Failed);
    outcome.error = std::current_exception();
  }
  return outcome;
}

/// What is not done yet. What comes after a chunk that failed need not run.
void run_in_order(const Lanes& lanes, std::span<Outcome> outcomes) {
  for (std::size_t number = 0; number < outcomes.size(); ++number) {
    if (!outcomes[number].done) {
      outcomes[number] = lanes.run(static_cast<std::int64_t>(number));
      lane_counts().chunks.fetch_add(1, std::memory_order_relaxed);
    }
    if (outcomes[number].status) break;
  }
}

void run_in_parallel(const Lanes& lanes, std::span<Outcome> outcomes) {
  const auto count = std::ssize(outcomes);
  // The lowest chunk that failed says how the call ends.
  std::atomic<std::int64_t> failed{count};
  const auto body = [&](std::int64_t number) {
    std::int64_t lowest = failed.load(std::memory_order_relaxed);
    if (number > lowest) return;
    Outcome& outcome = outcomes[static_cast<std::size_t>(number)];
    outcome = lanes.run(number);
    if (outcome.status)
      while (number < lowest && !failed.compare_exchange_weak(lowest, number, std::memory_order_relaxed)) {
      }
    lane_counts().chunks.fetch_add(1, std::memory_order_relaxed);
  };
  if (!share_out(count, body)) run_in_order(lanes, outcomes);
}

}  // namespace
}  // namespace apsis::detail

std::int32_t apsis_run_lanes(apsis::detail::CallContext* context, apsis::detail::Chunk chunk, void* arguments,
                             std::int64_t lanes, std::int64_t width, std::int64_t scratch_bytes,
                             std::int64_t parallel) noexcept {
  using namespace apsis::detail;
  if (lanes == 0) return 0;
  std::int32_t status = 0;
  const std::int32_t kept = keep_error(context, [&] {
    const Lanes all{context, chunk, arguments, lanes, width, scratch_bytes};
    std::vector<Outcome> outcomes(static_cast<std::size_t>(all.chunks()));
    if (parallel && outcomes.size() > 1)
      run_in_parallel(all, outcomes);
    else
      run_in_order(all, outcomes);
    for (Outcome& o : outcomes) {
      if (!o.status) continue;
      status = o.status;
      if (o.error) std::rethrow_exception(o.error);
      return;
    }
  });
  return kept ? kept : status;
}

void apsis_count_lanes(std::int64_t packet_steps, std::int64_t refills) noexcept {
  apsis::detail::lane_counts().packet_steps.fetch_add(packet_steps, std::memory_order_relaxed);
  apsis::detail::lane_counts().refills.fetch_add(refills, std::memory_order_relaxed);
}
