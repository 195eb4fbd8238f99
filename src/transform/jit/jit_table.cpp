#include "transform/jit/jit_table.hpp"

#include <algorithm>

#include "runtime/program_cache.hpp"
#include "transform/batch/trace_context.hpp"
#include "transform/jit/check_captures.hpp"
#include "transform/jit/compile_options.hpp"
#include "transform/stage/trace_watch.hpp"
#include "transform/stage/waits.hpp"

namespace apsis::detail {
namespace {

/// All tables of the process, for `clear_caches`.
struct Tables {
  std::mutex mutex;
  std::vector<JitTable*> all;
};
Tables& tables() {
  static auto* t = new Tables;
  return *t;
}

}  // namespace

JitTable::JitTable(const JitOptions& o, Loc loc)
    : options(o),
      codegen(codegen_options(o.compile)),
      counts(o.name, o.arguments, TraceCounts::unlimited, loc) {
  std::scoped_lock lock(tables().mutex);
  tables().all.push_back(this);
}

JitTable::~JitTable() {
  {
    std::scoped_lock lock(tables().mutex);
    std::erase(tables().all, this);
  }
  // No call is in progress any more.
  for (auto& bucket : buckets_)
    for (JitEntry* e = bucket.load(); e;) EntryRef::drop(std::exchange(e, e->next.load()));
}

JitEntry* JitTable::find(const JitCall& call, std::uint64_t hash, std::string_view context) {
  for (JitEntry* e = bucket_of(hash).load(); e; e = e->next.load())
    if (e->signature.hash == hash && (e->context.empty() || e->context == context) &&
        e->signature.matches(call))
      return e;
  return nullptr;
}

/// Beside the entry that was used last. Now and then that changes places.
JitEntry* JitTable::find_noting_use(const JitCall& call) {
  constexpr std::uint64_t change_every = 16;
  std::uint64_t hash = CallSignature::hash_of(call);
  JitEntry* entry = find(call, hash, {});
  if (!entry) return nullptr;
  std::uint64_t now = clock_.load(std::memory_order_relaxed) + 1;
  clock_.store(now, std::memory_order_relaxed);
  entry->used.store(now, std::memory_order_relaxed);
  if (now % change_every == 0) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock && find(call, hash, {}) == entry) set_last(entry);  // it may have been taken out meanwhile
  }
  return entry;
}

void JitTable::set_last(JitEntry* entry) {
  if (JitEntry* before = last_.load()) before->used.store(clock_.load(std::memory_order_relaxed));
  last_.store(entry);
}

EntryRef JitTable::entry_for(const JitCall& call, bool with_program) {
  std::uint64_t hash = CallSignature::hash_of(call);
  std::string context = trace_context();
  std::unique_lock lock(mutex_);
  for (;;) {
    if (JitEntry* found = find(call, hash, context)) {
      EntryRef entry = EntryRef::share(found);
      if (!entry->context.empty()) note_context_use();
      lock.unlock();
      if (with_program) add_program(*entry);
      return entry;
    }
    auto busy = std::ranges::find_if(
        pending_, [&](const auto& p) { return p->context == context && p->signature.matches(call); });
    if (busy == pending_.end()) return make(call, with_program, lock);
    WaitFor wait((*busy)->thread);
    if (!wait.allowed()) {
      // This thread is tracing it already, further up the stack or by way of threads that wait for this one:
      // it becomes part of the program around.
      lock.unlock();
      EntryRef entry = trace(call);
      if (with_program) add_program(*entry);
      return entry;
    }
    settled_.wait(lock);
  }
}

void JitTable::check_captures(const JitCall& call) {
  std::unique_lock lock(mutex_);
  JitEntry* found = find(call, CallSignature::hash_of(call), trace_context());
  if (!found) return;
  EntryRef entry = EntryRef::share(found);
  lock.unlock();
  if (entry->checked.exchange(true) && !checking_captures()) return;
  detail::check_captures(*entry, call, options.name, options.checks, counts.loc());
}

/// Traces, watched and counted.
EntryRef JitTable::trace(const JitCall& call) {
  TraceCounts::Ticket ticket = counts.begin(*call.type, call.site);
  TraceNotice notice(options.name, ticket.reason);
  ContextUse context;
  EntryRef entry = trace_entry(call, options.name, ticket.text, options.checks, counts.loc(), this);
  if (context.used()) entry->context = trace_context();
  counts.finish(ticket, captures_tracers(*entry) ? TraceOutcome::NotKept : TraceOutcome::Kept,
                notice.notes());
  return entry;
}

EntryRef JitTable::make(const JitCall& call, bool with_program, std::unique_lock<std::mutex>& lock) {
  pending_.push_back(
      std::make_unique<Pending>(Pending{CallSignature(call), trace_context(), std::this_thread::get_id()}));
  Pending* mine = pending_.back().get();
  lock.unlock();
  std::vector<Retired> dropped;
  auto finish = [&] {
    std::erase_if(pending_, [&](const auto& p) { return p.get() == mine; });
    settled_.notify_all();
  };
  EntryRef entry;
  try {
    entry = trace(call);
    if (with_program) add_program(*entry);
  } catch (...) {
    lock.lock();
    finish();
    throw;
  }
  lock.lock();
  if (!captures_tracers(*entry)) publish(entry, dropped);
  finish();
  lock.unlock();
  if (!dropped.empty()) retire(this, std::move(dropped));
  return entry;
}

/// One compile a program, however many threads ask: the program cache sees to that.
void JitTable::add_program(JitEntry& entry) {
  if (entry.program.load(std::memory_order_acquire)) return;
  std::shared_ptr<const Program> program = program_for(entry.graph, codegen);
  if (!program) return;
  std::scoped_lock lock(mutex_);
  if (entry.program_owner) return;
  entry.program_owner = program;
  entry.program.store(program.get(), std::memory_order_release);
}

void JitTable::publish(const EntryRef& entry, std::vector<Retired>& dropped) {
  std::atomic<JitEntry*>& bucket = bucket_of(entry->signature.hash);
  entry->next.store(bucket.load());
  entry->used.store(clock_.fetch_add(1) + 1);
  bucket.store(EntryRef(entry).release());
  if (entry->context.empty()) set_last(entry.get());  // what is used last runs outside of all axes
  ++entries_;
  while (entries_ > options.max_entries) {
    JitEntry* oldest = nullptr;
    for (auto& b : buckets_)
      for (JitEntry* e = b.load(); e; e = e->next.load())
        if (e != entry.get() && (!oldest || e->used.load() < oldest->used.load())) oldest = e;
    dropped.push_back(take_out(oldest));
  }
}

Retired JitTable::take_out(JitEntry* entry) {
  std::atomic<JitEntry*>* link = &bucket_of(entry->signature.hash);
  while (link->load() != entry) link = &link->load()->next;
  link->store(entry->next.load());
  if (last_.load() == entry) last_.store(nullptr);
  --entries_;
  return {entry, &EntryRef::drop};
}

StaticObject& JitTable::identity() {
  // Its value is the table that holds it, so no two are equal.
  static const StaticObjectType type{
      "jitted function", [](const void* a, const void* b) { return a == b; },
      [](const void* table) { return static_cast<const JitTable*>(table)->counts.name(); }, [](void*) {}};
  std::lock_guard lock(mutex_);
  if (identity_.is_empty())
    identity_ = StaticObject::intern(type, hash_word(0, reinterpret_cast<std::uintptr_t>(this)), this);
  return identity_;
}

std::string JitTable::functions() const {
  std::scoped_lock lock(mutex_);
  std::string text;
  for (const auto& bucket : buckets_)
    for (const JitEntry* e = bucket.load(); e; e = e->next.load())
      if (e->program_owner) text += e->program_owner->functions;
  return text;
}

std::int64_t JitTable::entry_count() const {
  std::scoped_lock lock(mutex_);
  return entries_;
}

std::vector<Retired> JitTable::take_all() {
  std::scoped_lock lock(mutex_);
  std::vector<Retired> all;
  for (auto& bucket : buckets_)
    while (JitEntry* e = bucket.load()) all.push_back(take_out(e));
  return all;
}

void JitTable::clear() { retire(this, take_all()); }

void clear_jit_tables() {
  // A table that goes meanwhile leaves its entries to this list.
  std::vector<std::pair<const void*, std::vector<Retired>>> taken;
  {
    std::scoped_lock lock(tables().mutex);
    for (JitTable* t : tables().all) taken.emplace_back(t, t->take_all());
  }
  for (auto& [table, entries] : taken)
    if (!entries.empty()) retire(table, std::move(entries));
}

}  // namespace apsis::detail
