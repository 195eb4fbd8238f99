#pragma once

#include <memory>
#include <mutex>

#include "apsis/transform/checks.hpp"
#include "codegen/compile/compile.hpp"
#include "transform/stage/signature.hpp"

namespace apsis::detail {

/// What results are rebuilt from: their structure with empty leaves, and which leaves are there.
struct ResultShape {
  void* prototype = nullptr;
  void (*destroy)(void*) = nullptr;
  std::vector<bool> present;
  ResultShape() = default;
  ResultShape(const ResultShape&) = delete;
  ResultShape& operator=(const ResultShape&) = delete;
  ~ResultShape() {
    if (prototype) destroy(prototype);
  }
  void set(void* made, void (*destroy_made)(void*), const std::vector<bool>& there) {
    prototype = made;
    destroy = destroy_made;
    present = there;
  }
};

/// One traced signature. Once published, immutable but for its program, which comes when it is first run.
struct JitEntry {
  std::atomic<std::uint32_t> refs{1};
  CallSignature signature;
  std::shared_ptr<const SignatureText> text;
  GraphRef graph;
  std::vector<Array> captures;
  std::string context;  // the named axes it was traced under, if it asked for one; empty: serves anywhere
  bool lists = false;   // whether lists come or go, as in what linearize returns: the records of a loop
  // Whether no lists do, and a call keeps the pointers to its inputs' and outputs' elements on the stack.
  bool on_stack = false;
  static constexpr std::size_t most_on_stack = 128;  // inputs, and outputs
  ResultShape result;
  std::atomic<const Program*> program{nullptr};
  std::shared_ptr<const Program> program_owner;  // the table's mutex guards it
  mutable std::once_flag overwritable_known;     // for calls that give arrays up
  mutable std::vector<std::int32_t> overwritable;
  std::atomic<bool> checked{false};  // by check_captures
  // Of the table:
  std::atomic<std::uint64_t> used{0};    // its clock at the last use that was noted
  std::atomic<JitEntry*> next{nullptr};  // in its bucket

  explicit JitEntry(const JitCall& call) : signature(call) {}
};

/// Shared ownership of an entry.
class EntryRef {
 public:
  EntryRef() = default;
  /// Takes over one reference.
  static EntryRef adopt(JitEntry* entry) {
    EntryRef r;
    r.entry_ = entry;
    return r;
  }
  static EntryRef share(JitEntry* entry) {
    entry->refs.fetch_add(1, std::memory_order_relaxed);
    return adopt(entry);
  }
  EntryRef(const EntryRef& other) : EntryRef(other.entry_ ? share(other.entry_) : EntryRef()) {}
  EntryRef(EntryRef&& other) noexcept : entry_(other.release()) {}
  EntryRef& operator=(EntryRef other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~EntryRef() { drop(entry_); }
  JitEntry* release() { return std::exchange(entry_, nullptr); }
  JitEntry* get() const { return entry_; }
  JitEntry* operator->() const { return entry_; }
  JitEntry& operator*() const { return *entry_; }
  explicit operator bool() const { return entry_ != nullptr; }
  static void drop(void* entry) {
    auto* e = static_cast<JitEntry*>(entry);
    if (e && e->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete e;
  }

 private:
  JitEntry* entry_ = nullptr;
};

class JitTable;
/// A result may hold the jitted function itself, as the state of a training step may. What an entry keeps of
/// it must not own the table that the entry is in: while this is set, copies of the table's functions do not.
extern thread_local const JitTable* table_of_result;

/// Stages a call under the current trace; `loc` is where the user asked for it. `table`: where the entry is
/// kept, if it is.
EntryRef trace_entry(const JitCall& call, const char* name, std::shared_ptr<const SignatureText> text,
                     const Checks& checks, Loc loc, const JitTable* table = nullptr);
/// A value there is: elements, or a list of them.
inline bool is_value(const Node* n) { return n->kind <= NodeKind::List; }
/// Whether the program uses traced values or named axes from outside, so that it serves only the traces it
/// was made in.
bool captures_tracers(const JitEntry& entry);

/// Runs a compiled program on concrete arguments: pointers to elements in, fresh arrays out, one jump.
void run_entry(const JitEntry& entry, const Program& program, const JitCall& call, JitResults& results);
/// Makes the program part of the current trace, as one `call` or equation by equation.
void bind_entry(const JitEntry& entry, const JitCall& call, const char* name, bool in_line,
                JitResults& results);

}  // namespace apsis::detail
