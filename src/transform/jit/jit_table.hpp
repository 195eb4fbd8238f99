#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "apsis/transform/jit.hpp"
#include "codegen/compile/compile.hpp"
#include "transform/jit/in_use.hpp"
#include "transform/jit/jit_entry.hpp"
#include "transform/stage/trace_counts.hpp"

namespace apsis::detail {

/// The entries of one jitted function. Looked up without locks; made once a signature while others wait;
/// published after success; bounded, the least recently used going first.
class JitTable {
 public:
  JitTable(const JitOptions& options, Loc loc);
  ~JitTable();
  JitTable(const JitTable&) = delete;
  JitTable& operator=(const JitTable&) = delete;

  std::atomic<std::uint32_t> refs{1};
  const JitOptions options;
  const CodegenOptions codegen;
  TraceCounts counts;

  /// Runs the call, if its program is there without a lock, and without allocation but of results.
  void run(const JitCall& call, JitResults& results);
  /// The entry of a call, made if need be, with its program if asked for. One that uses traced values from
  /// outside serves this call alone.
  EntryRef entry_for(const JitCall& call, bool with_program);
  /// Throws if the program of this call would be another if it were traced now; see CheckCaptures.
  void check_captures(const JitCall& call);
  std::int64_t entry_count() const;
  /// Which functions the programs compiled once for several places, a line each.
  std::string functions() const;
  void clear();
  /// Takes all entries out.
  std::vector<Retired> take_all();
  StaticObject& identity();

 private:
  static constexpr std::size_t bucket_count = 64;
  struct Pending {
    CallSignature signature;
    std::string context;
    std::thread::id thread;
  };
  std::atomic<JitEntry*>& bucket_of(std::uint64_t hash) { return buckets_[hash % bucket_count]; }
  /// The same for a call that gives arrays up, or is of another entry than the one used last: then `entry` is
  /// null.
  void run_other(const JitEntry* entry, const JitCall& call, std::atomic<const void*>& slot,
                 JitResults& results);
  JitEntry* find(const JitCall& call, std::uint64_t hash, std::string_view context);
  JitEntry* find_noting_use(const JitCall& call);
  EntryRef trace(const JitCall& call);
  EntryRef make(const JitCall& call, bool with_program, std::unique_lock<std::mutex>& lock);
  void add_program(JitEntry& entry);
  void set_last(JitEntry* entry);
  void publish(const EntryRef& entry, std::vector<Retired>& dropped);
  Retired take_out(JitEntry* entry);

  std::atomic<JitEntry*> last_{nullptr};
  std::atomic<JitEntry*> buckets_[bucket_count] = {};
  std::atomic<std::uint64_t> clock_{0};
  mutable std::mutex mutex_;  // whoever changes the table holds it
  std::condition_variable settled_;
  std::vector<std::unique_ptr<Pending>> pending_;
  std::int64_t entries_ = 0;
  StaticObject identity_;
};

/// Empties all tables of the process.
void clear_jit_tables();

}  // namespace apsis::detail
