// A call of a jitted function: the hot path.

#include "apsis/transform/jit.hpp"

#include <algorithm>

#include "apsis/transform/stages.hpp"
#include "core/current_trace.hpp"
#include "core/new_buffer.hpp"
#include "runtime/execute.hpp"
#include "runtime/region.hpp"
#include "transform/checks/check_trace.hpp"
#include "transform/jit/check_captures.hpp"
#include "transform/jit/donation.hpp"
#include "transform/jit/jit_table.hpp"
#include "transform/jit/stages.hpp"
#include "transform/stage/messages.hpp"

namespace apsis::detail {
namespace {

/// Without compilation: the function as it is.
class Direct final : public TraceRequest {
 public:
  void stage(const Callee& callee, std::span<const Array> leaves) override { outs = callee(leaves); }
  void set_result(const void* prototype, void* (*copy)(const void*), void (*destroy)(void*),
                  const std::vector<bool>& present) override {
    shape->set(copy(prototype), destroy, present);
  }
  std::vector<Array> outs;
  std::unique_ptr<ResultShape> shape = std::make_unique<ResultShape>();
};
void run_directly(const JitCall& call, const Checks& checks, JitResults& results) {
  Direct direct;
  if (checks.any()) {
    CheckTrace trace(current_trace(), checks);
    const TraceScope scope(&trace);
    call.type->trace(call.site, direct);
  } else {
    call.type->trace(call.site, direct);
  }
  std::ranges::move(direct.outs, results.slots(direct.outs.size()));
  results.prototype = direct.shape->prototype;
  results.present = &direct.shape->present;
  results.keep(direct.shape.release(), [](void* shape) { delete static_cast<ResultShape*>(shape); });
}

bool all_concrete(const JitCall& call) {
  for (Node* n : call.nodes)
    if (n && !is_value(n)) return false;
  return true;
}

/// The call once `in` points to the arguments' elements, with room for those of captures from `captures` on,
/// and `out` has room for the outputs: results made where there are none yet, one jump.
inline void run_on(const void* const* in, const void** captures, void** out, Array* results,
                   const JitEntry& entry, const Program& program) {
  for (const Array& a : entry.captures) *captures++ = data_of(a);
  void** next = out;
  for (const Aval& aval : program.outputs) {
    if (results->is_empty()) *results = Array::adopt(new_buffer(aval));
    *next++ = mutable_data<void>(*results++);
  }
  execute(program, *entry.graph, in, out);
}

const void** take_pointers(const JitCall& call, const void** in) {
  for (Node* n : call.nodes)
    if (n) *in++ = static_cast<BufferNode*>(n)->data;
  return in;
}

[[gnu::noinline]] void run_into(Array* results, const JitEntry& entry, const Program& program,
                                const JitCall& call) {
  if (entry.on_stack) {
    const void* in[JitEntry::most_on_stack];
    void* out[JitEntry::most_on_stack];
    return run_on(in, take_pointers(call, in), out, results, entry, program);
  }
  std::vector<const void*> in(program.inputs.size());
  std::vector<void*> out(program.outputs.size());
  run_on(in.data(), take_pointers(call, in.data()), out.data(), results, entry, program);
}

/// Lists live inside programs; `run` copies those that come and go.
[[gnu::noinline]] void run_with_lists(Array* results, const JitEntry& entry, const Program& program,
                                      const JitCall& call) {
  std::vector<Array> in;
  for (Node* n : call.nodes) {
    if (!n) continue;
    n->refs.fetch_add(1, std::memory_order_relaxed);
    in.push_back(Array::adopt(n));
  }
  in.insert(in.end(), entry.captures.begin(), entry.captures.end());
  std::ranges::move(run(program, in, entry.graph.get()), results);
}

[[gnu::noinline]] void run_giving_up(Array* results, const JitEntry& entry, const Program& program,
                                     const JitCall& call) {
  GivenUp given_up(call);
  given_up.reuse(entry, program, call, results);
  run_into(results, entry, program, call);
}

Array* slots_of(JitResults& results, const JitEntry& entry, const Program& program) {
  results.prototype = entry.result.prototype;
  results.present = &entry.result.present;
  return results.slots(program.outputs.size());
}

}  // namespace

void run_entry(const JitEntry& entry, const Program& program, const JitCall& call, JitResults& results) {
  Array* slots = slots_of(results, entry, program);
  if (entry.lists) [[unlikely]]
    return run_with_lists(slots, entry, program, call);
  if (call.given_up) [[unlikely]]
    return run_giving_up(slots, entry, program, call);
  run_into(slots, entry, program, call);
}

namespace {
/// A call whose program is to be made first, or that becomes part of another one.
[[gnu::noinline]] void call_unpublished(JitTable& t, const JitCall& call, bool runs, JitResults& results) {
  if (running_directly()) return run_directly(call, t.options.checks, results);
  EntryRef entry = t.entry_for(call, runs);
  if (const Program* program = runs ? entry->program.load(std::memory_order_acquire) : nullptr)
    run_entry(*entry, *program, call, results);
  else
    bind_entry(*entry, call, t.options.name, t.options.inline_calls, results);
  results.keep(entry.release(), &EntryRef::drop);
}
}  // namespace

void JitTable::run(const JitCall& call, JitResults& results) {
  InUse& in_use = in_use_here();
  if (in_use.depth == InUse::capacity) [[unlikely]]
    return call_unpublished(*this, call, all_concrete(call), results);
  std::atomic<const void*>& slot = results.borrow(in_use);
  announce(slot, this);
  const JitEntry* entry = last_.load();  // the one used last, mostly
  const void* in[JitEntry::most_on_stack];
  const void** captures = entry && entry->on_stack ? entry->signature.take(call, in) : nullptr;
  if (!captures || call.given_up) [[unlikely]]
    return run_other(captures ? entry : nullptr, call, slot, results);
  const Program* program = entry->program.load(std::memory_order_acquire);
  if (!program) [[unlikely]]
    return run_other(entry, call, slot, results);
  slot.store(entry, std::memory_order_release);
  void* out[JitEntry::most_on_stack];
  run_on(in, captures, out, slots_of(results, *entry, *program), *entry, *program);
}

void JitTable::run_other(const JitEntry* entry, const JitCall& call, std::atomic<const void*>& slot,
                         JitResults& results) {
  if (!entry && all_concrete(call)) entry = find_noting_use(call);
  const Program* program = entry ? entry->program.load(std::memory_order_acquire) : nullptr;
  if (!program) {
    results.give_back();
    return call_unpublished(*this, call, all_concrete(call), results);
  }
  slot.store(entry, std::memory_order_release);
  run_entry(*entry, *program, call, results);
}

thread_local const JitTable* table_of_result = nullptr;

JitCore::JitCore(const JitOptions& options, Loc loc) {
  const LocScope place(loc);  // options may be refused
  if (options.max_entries < 1) fail(messages::jit_entries, {std::to_string(options.max_entries)}, loc);
  table_ = new JitTable(options, loc);
}
JitCore::JitCore(const JitCore& other) noexcept : table_(other.table_), owns_(table_ != table_of_result) {
  if (table_ && owns_) table_->refs.fetch_add(1, std::memory_order_relaxed);
}
JitCore::~JitCore() {
  if (table_ && owns_ && table_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete table_;
}
TraceCounts& JitCore::counts() const { return table_->counts; }
std::int64_t JitCore::entry_count() const { return table_->entry_count(); }
void JitCore::clear() const { table_->clear(); }
Loc JitCore::place() const { return table_->counts.loc(); }
const JitOptions& JitCore::options() const { return table_->options; }
StaticObject& JitCore::identity() const { return table_->identity(); }

std::string JitCore::explain() const {
  std::int64_t traces = table_->counts.count(), kept = entry_count();
  return table_->counts.name() + ": " + std::to_string(traces) + (traces == 1 ? " trace, " : " traces, ") +
         std::to_string(kept) + " of at most " + std::to_string(table_->options.max_entries) +
         " signatures kept\n" + table_->counts.explain() + table_->functions();
}

void JitCore::call(const JitCall& call, JitResults& results) const {
  if (check_wanted()) [[unlikely]]
    table_->check_captures(call);
  if (trace_of_thread || interpreting()) [[unlikely]]
    return call_unpublished(*table_, call, false, results);
  table_->run(call, results);
}

Stages JitCore::stages(const JitCall& call) const {
  return make_stages(table_->entry_for(call, false), table_->options.arguments, *this);
}

}  // namespace apsis::detail
