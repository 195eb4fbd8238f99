#pragma once

// Memory that goes all at once: pieces of slabs, for the lists of a call.

#include <cstdint>
#include <vector>

namespace apsis::detail {

/// Slabs double in size. Those of the usual sizes are kept for later calls, up to a bound for the process: a
/// gradient that is asked for again finds the pages of its tape in memory.
class Slabs {
 public:
  explicit Slabs(std::int64_t byte_limit) : limit_(byte_limit) {}
  ~Slabs();
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  /// Memory for `bytes`, a multiple of 64, on a 64-byte boundary. Null past the limit; throws std::bad_alloc.
  void* take(std::int64_t bytes);

 private:
  struct Slab {
    void* memory;
    std::int64_t bytes;
  };
  std::vector<Slab> slabs_;
  char* at_ = nullptr;  // what is left of the latest
  std::int64_t left_ = 0, usual_ = 0;
  std::int64_t bytes_ = 0, limit_;
};

}  // namespace apsis::detail
