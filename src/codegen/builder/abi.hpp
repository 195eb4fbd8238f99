#pragma once

// What compiled code and its callers agree on. Change `abi_version` with anything here: it is part of the
// cache keys.

#include <cstdint>

namespace apsis::detail {

inline constexpr int abi_version = 4;

/// What a compiled program returns.
enum class Status : std::int32_t {
  Ok = 0,
  Cancelled = 1,  // the cancel flag was seen
  Failed = 2      // a runtime entry failed; the call's context holds the exception
};

/// What one call of a compiled program works with. Compiled code reads the fields at their offsets.
struct CallContext {
  void* scratch = nullptr;  // 64-byte aligned, as many bytes as the program's plan says
  const std::uint32_t* cancel =
      nullptr;                    // polled at back edges; never null; set to non-zero to stop the call
  const void* kernels = nullptr;  // the program's table of evaluator kernels
  void* runtime = nullptr;        // the caller's own: the exception kept, the thread pool
  // Of a chunk of lanes whose region has effects:
  const std::int64_t* lanes = nullptr;  // the numbers of the lanes in the packet at work
  std::int64_t slot = 0;                // which of them an effect belongs to
  const std::int64_t* nest = nullptr;   // of lanes of several vmaps: how many vmaps, and their lengths
  const CallContext* outer = nullptr;   // that of the lanes around, or of the call
};

/// A program: its inputs and outputs are element storage in row-major order, outputs allocated by the caller.
using Entry = std::int32_t (*)(CallContext* context, const void* const* in, void* const* out);

/// A part of a parallel loop: works on [first, last). Handed to the runtime by address.
using Chunk = std::int32_t (*)(CallContext* context, void* arguments, std::int64_t first, std::int64_t last);

}  // namespace apsis::detail
