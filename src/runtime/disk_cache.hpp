#pragma once

#include <optional>
#include <string>

#include "codegen/compile/compile.hpp"

namespace apsis::detail {

// Programs kept in files between processes, one file a key. Any number of processes may share a directory
// without locks: a file appears by renaming and is never changed, and what one process reads another may
// remove. A directory is used only if it is this user's and nobody else's (0700): what is in it is run.
//
// Off unless the environment or `set_disk_cache` says otherwise.

struct DiskCacheInfo {
  std::string directory;  // empty: off
  std::string why_off;    // where it was asked for and could not be had
  std::int64_t max_bytes = 0;
};

/// Keeps programs in `directory`, or at the usual place if that is empty; at most `max_bytes` of them, the
/// least recently used go first. Programs in memory stay.
void set_disk_cache(const std::string& directory, std::int64_t max_bytes);
void set_disk_cache_off();
bool disk_cache_on();
DiskCacheInfo disk_cache_info();
/// Removes the programs in the directory.
void clear_disk_cache();

/// The program kept under a key, if there is one that is whole and was made under this very key.
std::optional<ProgramImage> find_on_disk(const std::string& key);
/// Keeps one. Where that is not possible (the disk is full, the directory gone) nothing is kept.
void keep_on_disk(const std::string& key, const ProgramImage& image) noexcept;

}  // namespace apsis::detail
