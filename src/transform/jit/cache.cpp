#include "apsis/transform/cache.hpp"

#include "runtime/disk_cache.hpp"
#include "runtime/program_cache.hpp"
#include "transform/jit/jit_table.hpp"

namespace apsis {

void set_disk_cache(const DiskCacheOptions& options) {
  if (options.on)
    detail::set_disk_cache(options.directory, options.max_bytes);
  else
    detail::set_disk_cache_off();
}

void clear_disk_cache() { detail::clear_disk_cache(); }

void set_program_limit(std::int64_t programs) { detail::set_program_limit(programs); }

void clear_program_cache() { detail::clear_program_cache(); }

void clear_caches() {
  detail::clear_jit_tables();
  detail::clear_program_cache();
}

CacheState cache_state() {
  const detail::ProgramCacheCounts counts = detail::program_cache_counts();
  detail::DiskCacheInfo disk = detail::disk_cache_info();
  return {.programs = counts.held,
          .program_limit = counts.limit,
          .compiled = counts.compiled,
          .loaded = counts.loaded,
          .directory = std::move(disk.directory),
          .why_off = std::move(disk.why_off),
          .max_bytes = disk.max_bytes};
}

}  // namespace apsis
