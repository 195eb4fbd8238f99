#include "transform/jit/jit_entry.hpp"

#include <algorithm>

#include "apsis/base/keep_library.hpp"
#include "ir/regions.hpp"
#include "transform/checks/op_checks.hpp"
#include "transform/stage/stage.hpp"

namespace apsis::detail {

extern const Op call_op;

namespace {

class NotOwning {
 public:
  explicit NotOwning(const JitTable* table) { table_of_result = table; }
  ~NotOwning() { table_of_result = nullptr; }
  NotOwning(const NotOwning&) = delete;
  NotOwning& operator=(const NotOwning&) = delete;
};

class Stager final : public TraceRequest {
 public:
  Stager(JitEntry& entry, const JitTable* table, const char* name, Loc loc)
      : entry_(entry), table_(table), name_(name), loc_(loc) {}
  void stage(const Callee& callee, std::span<const Array> leaves) override {
    std::vector<Aval> avals;
    for (const Array& a : leaves) avals.push_back(a.aval());
    Staged staged = detail::stage(callee, avals, name_, loc_);
    entry_.graph = std::move(staged.graph);
    entry_.captures = std::move(staged.captures);
    auto is_list = [this](ValueId v) { return entry_.graph->aval(v).is_list(); };
    entry_.lists = std::ranges::any_of(entry_.graph->outputs(), is_list);
    for (ValueId v = 0; v < entry_.graph->input_count(); ++v) entry_.lists |= is_list(v);
  }
  void set_result(const void* prototype, void* (*copy)(const void*), void (*destroy)(void*),
                  const std::vector<bool>& present) override {
    const NotOwning scope(table_);
    entry_.result.set(copy(prototype), destroy, present);
  }

 private:
  JitEntry& entry_;
  const JitTable* table_;
  const char* name_;
  Loc loc_;
};

}  // namespace

EntryRef trace_entry(const JitCall& call, const char* name, std::shared_ptr<const SignatureText> text,
                     const Checks& checks, Loc loc, const JitTable* table) {
  const LocScope place(loc);
  keep_library(call.type);  // the entry's result is destroyed by code of the call's
  EntryRef entry = EntryRef::adopt(new JitEntry(call));
  entry->text = std::move(text);
  Stager stager(*entry, table, name, loc);
  {
    const CheckedStaging checked(checks.any());
    call.type->trace(call.site, stager);
  }
  entry->graph = with_checks(*entry->graph, checks);
  const Graph& graph = *entry->graph;
  entry->on_stack = !entry->lists &&
                    static_cast<std::size_t>(graph.input_count()) <= JitEntry::most_on_stack &&
                    graph.outputs().size() <= JitEntry::most_on_stack;
  return entry;
}

bool captures_tracers(const JitEntry& entry) {
  return std::ranges::any_of(entry.captures, is_tracer) ||
         std::ranges::any_of(entry.graph->axes(), [](const std::string& axis) { return !axis.empty(); });
}

void bind_entry(const JitEntry& entry, const JitCall& call, const char* name, bool in_line,
                JitResults& results) {
  std::vector<Array> operands;
  for (Node* n : call.nodes) {
    if (!n) continue;
    n->refs.fetch_add(1, std::memory_order_relaxed);
    operands.push_back(Array::adopt(n));
  }
  operands.insert(operands.end(), entry.captures.begin(), entry.captures.end());
  results.prototype = entry.result.prototype;
  results.present = &entry.result.present;
  Array* slots = results.slots(entry.graph->outputs().size());
  if (in_line) {
    std::ranges::move(interpret(*entry.graph, operands), slots);
  } else {
    bind(call_op, make_params(CallParams{entry.graph, name}), operands, {slots, results.count});
  }
}

}  // namespace apsis::detail
