#pragma once

// Compiled programs are kept in two places. In memory: one cache for the process, so that equal programs are
// compiled once, however often they are traced. On disk, when asked for: another process that needs the same
// program loads it without generating code. On by
//
//   set_disk_cache();                               // in ~/.cache/apsis, or $XDG_CACHE_HOME/apsis
//   set_disk_cache({.directory = "/var/cache/me"});
//   APSIS_DISK_CACHE=on ./program                   // the same from outside; or a directory
//
// It is off by default: a library does not write files that nobody asked for.

#include <cstdint>
#include <string>

namespace apsis {

/// Options of `set_disk_cache`.
struct DiskCacheOptions {
  /// Whether to keep programs on disk.
  bool on = true;
  /// An absolute path; made if it is not there. Empty: $XDG_CACHE_HOME/apsis, or ~/.cache/apsis.
  std::string directory = {};
  /// Of all files together; the least recently used go first.
  std::int64_t max_bytes = std::int64_t{256} << 20;
};

/// Keeps compiled programs on disk from now on, instead of where they were kept before (what is in memory
/// stays). A directory that is not this user's alone (mode 0700) is not used: nothing is kept, and
/// `cache_state` says why. Any number of threads and processes may share a directory. A program that calls
/// functions of this process alone (host callbacks, ops of the user's own without a version) is not kept.
/// What is kept is compiled at level 1 where no level is asked for: it is run often. Unless called, the
/// environment decides: `APSIS_DISK_CACHE` is `on`, `off` or a directory, `APSIS_DISK_CACHE_BYTES` the limit.
void set_disk_cache(const DiskCacheOptions& options = {});
/// Removes the programs on disk; those in memory stay.
void clear_disk_cache();

/// Keeps at most so many programs in memory (2048 unless set; at least one). The least recently used go;
/// those that jitted functions hold on to live on with them.
void set_program_limit(std::int64_t programs);
/// Forgets the compiled programs in memory. Jitted functions keep theirs. Safe while other threads compile
/// and call.
void clear_program_cache();

/// Forgets all that was traced and compiled in this process: the signatures of every jitted function, with
/// their programs, and the programs they share. Safe while other threads trace, compile and call; what runs
/// just now runs on. What `compile` returned stays, and so does what is on disk.
void clear_caches();

/// What the caches hold and did in this process.
struct CacheState {
  std::int64_t programs = 0;  ///< in memory
  std::int64_t program_limit = 0;
  std::int64_t compiled = 0;   ///< programs for which code was generated
  std::int64_t loaded = 0;     ///< programs that were found on disk
  std::string directory = {};  ///< where programs are kept on disk; empty: they are not
  std::string why_off = {};    ///< where that was asked for and is not possible
  std::int64_t max_bytes = 0;
};
/// What the caches of this process hold and did so far.
CacheState cache_state();

}  // namespace apsis
