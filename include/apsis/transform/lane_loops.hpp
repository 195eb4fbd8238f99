#pragma once

#include <cstdint>

namespace apsis {

/// How vmap runs a loop, above all one that its lanes leave after different numbers of iterations.
enum class LaneLoops : std::uint8_t {
  Automatic,  ///< by what an iteration consists of; `explain` says what was chosen and why
  Lanes,    ///< each lane at its own pace, a packet of them at a time; one that ends makes room for the next
  Lockstep  ///< all lanes, one iteration after the other; the state of those that have ended is kept by masks
};

}  // namespace apsis
