// The cache of a jitted function, and ahead-of-time compilation.

#include "apsis/transform/jit.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/hash.hpp"
#include "ir/regions.hpp"
#include "runtime/execute.hpp"
#include "runtime/program_cache.hpp"
#include "runtime/region.hpp"
#include "transform/compile_options.hpp"
#include "transform/messages.hpp"
#include "transform/stage.hpp"

namespace apsis::detail {
extern const Op call_op;
namespace {

/// What a call must agree on to use an entry.
struct CallSignature {
  std::vector<Aval> avals;  // empty Avals for empty leaves
  StaticKey key;
  const void* types;
  std::uint64_t hash;

  explicit CallSignature(const JitCall& call) : types(call.types) {
    for (Node* n : call.nodes) avals.push_back(n ? n->aval : Aval());
    if (call.key) key = *call.key;
    hash = hash_of(call);
  }
  static std::uint64_t hash_of(const JitCall& call) {
    std::uint64_t hash =
        hash_mix(reinterpret_cast<std::uintptr_t>(call.types), call.key ? call.key->hash() : 0);
    for (Node* n : call.nodes) hash = hash_mix(hash, n ? n->aval.hash() : 0);
    return hash;
  }
  bool matches(const JitCall& call) const {
    if (types != call.types || avals.size() != call.nodes.size()) return false;
    for (std::size_t i = 0; i < avals.size(); ++i) {
      Node* n = call.nodes[i];
      if (n ? !(avals[i] == n->aval) : static_cast<bool>(avals[i])) return false;
    }
    return call.key ? key == *call.key : key.empty();
  }
};

/// One traced and compiled signature. Immutable once published.
struct JitEntry {
  CallSignature signature;
  GraphRef graph;
  std::vector<Array> captures;
  std::shared_ptr<const Program> program;
  void* prototype = nullptr;
  void (*destroy)(void*) = nullptr;
  std::vector<bool> present;
  JitEntry* next = nullptr;  // in its bucket

  explicit JitEntry(const JitCall& call) : signature(call) {}
  ~JitEntry() {
    if (prototype) destroy(prototype);
  }
};

/// Stages under the current trace and keeps the result in an entry.
class Stager : public TraceRequest {
 public:
  Stager(JitEntry& entry, const char* name, Loc loc) : entry_(entry), name_(name), loc_(loc) {}
  void stage(const Callee& callee, std::span<const Array> leaves) override {
    std::vector<Aval> avals;
    for (const Array& a : leaves) avals.push_back(a.aval());
    Staged staged = detail::stage(callee, avals, name_, loc_);
    entry_.graph = std::move(staged.graph);
    entry_.captures = std::move(staged.captures);
  }
  void set_result(void* prototype, void (*destroy)(void*), const std::vector<bool>& present) override {
    entry_.prototype = prototype;
    entry_.destroy = destroy;
    entry_.present = present;
  }

 private:
  JitEntry& entry_;
  const char* name_;
  Loc loc_;
};

std::unique_ptr<JitEntry> trace_entry(const JitCall& call, const char* name, Loc loc) {
  auto entry = std::make_unique<JitEntry>(call);
  Stager stager(*entry, name, loc);
  call.trace(call.context, stager);
  return entry;
}

Array* result_slots(const JitEntry& entry, JitResults& results) {
  results.count = entry.graph->outputs().size();
  results.prototype = entry.prototype;
  results.present = &entry.present;
  if (results.count > JitResults::small) results.many.resize(results.count);
  return results.count <= JitResults::small ? results.in_place : results.many.data();
}

/// The hot path: pointers to elements in, fresh arrays out, one jump.
void run_entry(const JitEntry& entry, const Program& program, const JitCall& call, JitResults& results) {
  constexpr std::size_t small = 64;
  std::size_t inputs = call.nodes.size() + entry.captures.size(), outputs = program.outputs.size();
  const void* small_in[small];
  void* small_out[small];
  std::vector<const void*> many_in;
  std::vector<void*> many_out;
  const void** in = small_in;
  void** out = small_out;
  if (inputs > small) {
    many_in.resize(inputs);
    in = many_in.data();
  }
  if (outputs > small) {
    many_out.resize(outputs);
    out = many_out.data();
  }
  std::size_t next = 0;
  for (Node* n : call.nodes)
    if (n) in[next++] = static_cast<BufferNode*>(n)->data;
  for (const Array& a : entry.captures) in[next++] = data_of(a);
  Array* slots = result_slots(entry, results);
  for (std::size_t i = 0; i < outputs; ++i) {
    slots[i] = allocate(program.outputs[i]);
    out[i] = mutable_data<void>(slots[i]);
  }
  execute(program, in, out);
}

/// Under another trace, or with traced arguments: the program becomes one `call`.
void bind_entry(const JitEntry& entry, const JitCall& call, const char* name, JitResults& results) {
  std::vector<Array> operands;
  for (Node* n : call.nodes) {
    if (!n) continue;
    n->refs.fetch_add(1, std::memory_order_relaxed);
    operands.push_back(Array::adopt(n));
  }
  operands.insert(operands.end(), entry.captures.begin(), entry.captures.end());
  Array* slots = result_slots(entry, results);
  bind(call_op, make_params(CallParams{entry.graph, name}), operands, {slots, results.count});
}

bool all_concrete(const JitCall& call) {
  for (Node* n : call.nodes)
    if (n && n->kind != NodeKind::Buffer) return false;
  return true;
}

bool any_tracer(std::span<const Array> arrays) {
  for (const Array& a : arrays)
    if (is_tracer(a)) return true;
  return false;
}

}  // namespace

struct JitCore::Shared {
  static constexpr std::size_t bucket_count = 64;
  std::atomic<std::uint32_t> refs{1};
  const char* name;
  Loc loc;
  CodegenOptions codegen;
  std::atomic<JitEntry*> last{nullptr};
  std::atomic<JitEntry*> buckets[bucket_count] = {};
  std::atomic<std::int64_t> traces{0};
  std::mutex mutex;
  std::condition_variable settled;
  struct Pending {
    CallSignature signature;
    std::thread::id thread;
  };
  std::vector<std::unique_ptr<Pending>> pending;  // signatures being traced and compiled

  Shared(const JitOptions& options, Loc l)
      : name(options.name), loc(l), codegen(codegen_options(options.compile)) {}
  ~Shared() {
    for (auto& bucket : buckets)
      for (JitEntry* e = bucket.load(); e;) delete std::exchange(e, e->next);
  }
  JitEntry* find(const JitCall& call, std::uint64_t hash) const {
    for (JitEntry* e = buckets[hash % bucket_count].load(std::memory_order_acquire); e; e = e->next)
      if (e->signature.hash == hash && e->signature.matches(call)) return e;
    return nullptr;
  }
  Pending* find_pending(const JitCall& call) const {
    for (const auto& p : pending)
      if (p->signature.matches(call)) return p.get();
    return nullptr;
  }
  void publish(std::unique_ptr<JitEntry> entry) {
    std::atomic<JitEntry*>& bucket = buckets[entry->signature.hash % bucket_count];
    entry->next = bucket.load(std::memory_order_relaxed);
    bucket.store(entry.release(), std::memory_order_release);
  }

  /// The entry of a call, made if need be; null if this very thread is tracing it further up the stack.
  JitEntry* entry_for(const JitCall& call) {
    std::uint64_t hash = CallSignature::hash_of(call);
    if (JitEntry* e = find(call, hash)) return e;
    std::unique_lock lock(mutex);
    for (;;) {
      if (JitEntry* e = find(call, hash)) return e;
      Pending* p = find_pending(call);
      if (!p) break;
      if (p->thread == std::this_thread::get_id()) return nullptr;
      settled.wait(lock);
    }
    pending.push_back(std::make_unique<Pending>(Pending{CallSignature(call), std::this_thread::get_id()}));
    Pending* mine = pending.back().get();
    lock.unlock();
    auto finish = [&] {
      if (!lock.owns_lock()) lock.lock();
      std::erase_if(pending, [&](const auto& p) { return p.get() == mine; });
      settled.notify_all();
    };
    try {
      traces.fetch_add(1, std::memory_order_relaxed);
      std::unique_ptr<JitEntry> entry = trace_entry(call, name, loc);
      entry->program = program_for(entry->graph, codegen);
      lock.lock();
      JitEntry* published = entry.get();
      publish(std::move(entry));
      finish();
      return published;
    } catch (...) {
      finish();
      throw;
    }
  }
};

JitCore::JitCore(const JitOptions& options, Loc loc) : shared_(new Shared(options, loc)) {}
JitCore::JitCore(const JitCore& other) noexcept : shared_(other.shared_) {
  if (shared_) shared_->refs.fetch_add(1, std::memory_order_relaxed);
}
JitCore::~JitCore() {
  if (shared_ && shared_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared_;
}
std::int64_t JitCore::trace_count() const { return shared_->traces.load(std::memory_order_relaxed); }

void JitCore::call(const JitCall& call, JitResults& results) const {
  Shared& s = *shared_;
  if (!current_trace() && all_concrete(call)) {
    JitEntry* entry = s.last.load(std::memory_order_acquire);
    if (!entry || !entry->signature.matches(call)) {
      entry = interpreting() ? nullptr : s.entry_for(call);
      if (entry) s.last.store(entry, std::memory_order_release);
    }
    if (entry && !interpreting()) return run_entry(*entry, *entry->program, call, results);
  }
  // Traced anew for the traces around it: what the function captured may belong to them.
  s.traces.fetch_add(1, std::memory_order_relaxed);
  std::unique_ptr<JitEntry> entry = trace_entry(call, s.name, s.loc);
  bind_entry(*entry, call, s.name, results);
  results.keep(entry.release(), [](void* e) { delete static_cast<JitEntry*>(e); });
}

namespace {

struct SharedStages {
  struct Build {
    CodegenOptions options;
    std::shared_ptr<const Program> program;
  };
  std::atomic<std::uint32_t> refs{1};
  JitEntry entry;
  std::mutex mutex;
  std::list<Build> builds;         // one for all options it was compiled with; they stay where they are
  std::vector<std::string> paths;  // argument path of each leaf
  explicit SharedStages(const JitCall& call) : entry(call) {
    for (std::size_t i = 0; i < call.nodes.size(); ++i) paths.push_back(call.describe(call.context, i));
  }
};
SharedStages* stages_of(void* p) { return static_cast<SharedStages*>(p); }

/// Refuses what the program was not made for.
void check_call(const SharedStages& s, const JitCall& call) {
  const CallSignature& want = s.entry.signature;
  if (want.avals.size() != call.nodes.size())
    fail(messages::compiled_structure,
         {std::to_string(want.avals.size()), std::to_string(call.nodes.size())});
  for (std::size_t i = 0; i < call.nodes.size(); ++i) {
    Node* n = call.nodes[i];
    bool same = n ? want.avals[i] && want.avals[i].dtype() == n->aval.dtype() &&
                        want.avals[i].shape() == n->aval.shape()
                  : !want.avals[i];
    if (!same)
      fail(messages::compiled_argument,
           {s.paths[i], to_string(want.avals[i]), n ? to_string(n->aval) : "empty"});
    if (n && n->kind != NodeKind::Buffer) fail(messages::compiled_traced, {s.paths[i]});
  }
  if (!(call.key ? want.key == *call.key : want.key.empty())) fail(messages::compiled_static, {});
}

}  // namespace

Stages::Stages(const Stages& other) noexcept : shared_(other.shared_), build_(other.build_) {
  if (shared_) stages_of(shared_)->refs.fetch_add(1, std::memory_order_relaxed);
}
Stages::~Stages() {
  if (shared_ && stages_of(shared_)->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete stages_of(shared_);
}

Stages Stages::trace(const JitCall& call, const char* name) {
  auto* s = new SharedStages(call);
  Stages stages(s);
  Stager stager(s->entry, name, {"", name});
  call.trace(call.context, stager);
  return stages;
}

Stages Stages::compile(const CompileOptions& options) const {
  SharedStages& s = *stages_of(shared_);
  if (any_tracer(s.entry.captures)) fail(messages::compile_captures, {});
  CodegenOptions codegen = codegen_options(options);
  std::scoped_lock lock(s.mutex);
  auto build = std::ranges::find(s.builds, codegen, &SharedStages::Build::options);
  if (build == s.builds.end()) {
    s.builds.push_front({codegen, program_for(s.entry.graph, codegen)});
    build = s.builds.begin();
  }
  Stages compiled = *this;
  compiled.build_ = &*build;
  return compiled;
}

void Stages::run(const JitCall& call, JitResults& results) const {
  SharedStages& s = *stages_of(shared_);
  check_call(s, call);
  run_entry(s.entry, *static_cast<const SharedStages::Build*>(build_)->program, call, results);
}

std::string Stages::graph_text() const { return to_string(*stages_of(shared_)->entry.graph); }
std::string Stages::code_text() const {
  return detail::code_text(*stages_of(shared_)->entry.graph,
                           static_cast<const SharedStages::Build*>(build_)->options);
}

}  // namespace apsis::detail
