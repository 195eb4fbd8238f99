#include "runtime/program_cache.hpp"

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <unordered_map>

namespace apsis::detail {
namespace {

constexpr std::size_t program_limit = 2048;

struct Entry {
  GraphRef graph;
  std::shared_ptr<const Program> program;  // null while one thread compiles it
};
using Entries = std::list<Entry>;  // the most recently used first

struct Cache {
  std::mutex mutex;
  std::condition_variable compiled;
  Entries entries;
  std::unordered_multimap<std::uint64_t, Entries::iterator> by_hash;
  std::atomic<std::int64_t> compiles{0};

  Entries::iterator find(const GraphRef& graph) {
    auto [first, last] = by_hash.equal_range(graph->hash());
    for (; first != last; ++first)
      if (first->second->graph == graph) return first->second;
    return entries.end();
  }
  void erase(Entries::iterator entry) {
    auto [first, last] = by_hash.equal_range(entry->graph->hash());
    for (; first != last; ++first)
      if (first->second == entry) {
        by_hash.erase(first);
        break;
      }
    entries.erase(entry);
  }
  void trim() {
    for (auto it = entries.end(); entries.size() > program_limit && it != entries.begin();) {
      --it;
      if (!it->program) continue;
      auto gone = it++;
      erase(gone);
    }
  }
};

Cache& cache() {
  static auto* c = new Cache;  // outlives static jit objects
  return *c;
}

}  // namespace

std::shared_ptr<const Program> program_for(const GraphRef& given) {
  const GraphRef graph = without_custom(given);
  Cache& c = cache();
  std::unique_lock lock(c.mutex);
  for (;;) {
    auto found = c.find(graph);
    if (found == c.entries.end()) break;
    if (found->program) {
      c.entries.splice(c.entries.begin(), c.entries, found);
      return found->program;
    }
    c.compiled.wait(lock);
  }
  c.entries.push_front({graph, nullptr});
  auto mine = c.entries.begin();
  c.by_hash.emplace(graph->hash(), mine);
  lock.unlock();
  // Published only after success: a failed compile leaves nothing behind.
  try {
    auto program = compile(*graph);
    c.compiles.fetch_add(1, std::memory_order_relaxed);
    lock.lock();
    mine->program = program;
    c.trim();
    c.compiled.notify_all();
    return program;
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    c.erase(mine);
    c.compiled.notify_all();
    throw;
  }
}

std::int64_t compile_count() { return cache().compiles.load(std::memory_order_relaxed); }

void clear_program_cache() {
  Cache& c = cache();
  std::unique_lock lock(c.mutex);
  for (auto it = c.entries.begin(); it != c.entries.end();) {
    auto next = std::next(it);
    if (it->program) c.erase(it);
    it = next;
  }
}

}  // namespace apsis::detail
