#include "runtime/program_cache.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "apsis/core/watch.hpp"
#include "base/exit.hpp"
#include "base/hash.hpp"
#include "passes/strip_custom.hpp"
#include "runtime/disk_cache.hpp"
#include "runtime/program_key.hpp"

namespace apsis::detail {
namespace {

constexpr std::size_t usual_limit = 2048;

struct Entry {
  GraphRef graph;
  CodegenOptions options;
  std::shared_ptr<const Program> program;  // null while one thread compiles it

  bool is(const GraphRef& g, const CodegenOptions& o) const { return options == o && graph == g; }
  std::uint64_t hash() const { return hash_of(graph, options); }
  static std::uint64_t hash_of(const GraphRef& g, const CodegenOptions& o) {
    std::uint64_t hash = hash_mix(g->hash(), static_cast<std::uint64_t>(o.lanes));
    hash = hash_mix(hash_mix(hash, static_cast<std::uint64_t>(o.level)), static_cast<std::uint64_t>(o.part));
    return hash_mix(hash, static_cast<std::uint64_t>(o.isa) * 2 + o.parallel);
  }
};
using Entries = std::list<Entry>;  // the most recently used first

struct Cache {
  std::mutex mutex;
  std::condition_variable compiled;
  Entries entries;
  std::unordered_multimap<std::uint64_t, Entries::iterator> by_hash;
  std::size_t limit = usual_limit;
  std::atomic<std::int64_t> compiled_count{0}, loaded_count{0};

  Entries::iterator find(const GraphRef& graph, const CodegenOptions& options) {
    auto [first, last] = by_hash.equal_range(Entry::hash_of(graph, options));
    for (; first != last; ++first)
      if (first->second->is(graph, options)) return first->second;
    return entries.end();
  }
  void erase(Entries::iterator entry) {
    auto [first, last] = by_hash.equal_range(entry->hash());
    for (; first != last; ++first)
      if (first->second == entry) {
        by_hash.erase(first);
        break;
      }
    entries.erase(entry);
  }
  void trim() {
    for (auto it = entries.end(); entries.size() > limit && it != entries.begin();) {
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

/// What is kept is run by many processes, so that code which runs faster is worth the time to generate it.
CodegenOptions for_keeping(CodegenOptions options) {
  if (options.level < 0) options.level = static_cast<int>(Level::Less);
  return options;
}

/// A program from disk, or null.
std::shared_ptr<const Program> load_kept(const Graph& graph, const std::string& key) {
  std::optional<ProgramImage> image = find_on_disk(key);
  if (!image) return nullptr;
  try {
    return load_program(graph, *image);
  } catch (const InternalError&) {
    return nullptr;  // names a symbol that is not there: of another program's ops
  }
}

std::string signature_of(const Program& program) {
  std::string text;
  auto list = [&](const std::vector<Aval>& avals) {
    text += '(';
    for (const Aval& a : avals) text += (&a == avals.data() ? "" : ", ") + to_string(a);
    text += ')';
  };
  list(program.inputs);
  text += " -> ";
  list(program.outputs);
  return text;
}

/// Tells who listens (see apsis/core/watch.hpp).
void tell_of_compile(const Program& program, std::chrono::steady_clock::time_point start) {
  CompileListener tell = compile_listener();
  if (!tell) return;
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  tell({signature_of(program), program.equations, program.code_bytes, time.count()});
}

}  // namespace

std::shared_ptr<const Program> program_for(const GraphRef& given, const CodegenOptions& options) {
  const GraphRef graph = strip_custom(*given);
  Cache& c = cache();
  std::unique_lock lock(c.mutex);
  for (;;) {
    auto found = c.find(graph, options);
    if (found == c.entries.end()) break;
    if (found->program) {
      c.entries.splice(c.entries.begin(), c.entries, found);
      return found->program;
    }
    c.compiled.wait(lock);
  }
  c.entries.push_front({graph, options, nullptr});
  auto mine = c.entries.begin();
  c.by_hash.emplace(mine->hash(), mine);
  lock.unlock();
  std::string key;
  std::optional<ProgramImage> image;  // of what was compiled here
  std::shared_ptr<const Program> program;
  try {
    if (disk_cache_on()) key = program_key(*graph, options);
    if (!key.empty()) program = load_kept(*graph, key);
    if (!program) {
      const ExitLease lease;
      if (!lease) {
        lock.lock();
        c.erase(mine);
        c.compiled.notify_all();
        return nullptr;
      }
      auto start = std::chrono::steady_clock::now();
      image = compile_image(*graph, key.empty() ? options : for_keeping(options));
      program = load_program(*graph, *image);
      tell_of_compile(*program, start);
    }
  } catch (...) {
    lock.lock();
    c.erase(mine);
    c.compiled.notify_all();
    throw;
  }
  (image ? c.compiled_count : c.loaded_count).fetch_add(1, std::memory_order_relaxed);
  lock.lock();
  mine->program = program;
  c.trim();
  lock.unlock();
  c.compiled.notify_all();
  if (image && !key.empty()) keep_on_disk(key, *image);
  return program;
}

std::int64_t compile_count() { return cache().compiled_count.load(std::memory_order_relaxed); }

ProgramCacheCounts program_cache_counts() {
  Cache& c = cache();
  std::scoped_lock lock(c.mutex);
  return {static_cast<std::int64_t>(c.entries.size()), static_cast<std::int64_t>(c.limit), c.compiled_count,
          c.loaded_count};
}

void set_program_limit(std::int64_t programs) {
  Cache& c = cache();
  std::scoped_lock lock(c.mutex);
  c.limit = static_cast<std::size_t>(std::max<std::int64_t>(1, programs));
  c.trim();
}

void clear_program_cache() {
  Cache& c = cache();
  std::scoped_lock lock(c.mutex);
  for (auto it = c.entries.begin(); it != c.entries.end();) {
    auto next = std::next(it);
    if (it->program) c.erase(it);
    it = next;
  }
}

}  // namespace apsis::detail
