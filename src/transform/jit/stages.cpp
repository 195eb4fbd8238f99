// Compilation ahead of time.

#include "transform/jit/stages.hpp"

#include "ir/text.hpp"
#include "passes/strip_custom.hpp"
#include "runtime/program_cache.hpp"
#include "transform/jit/compile_options.hpp"
#include "transform/stage/messages.hpp"
#include "transform/stage/trace_watch.hpp"

namespace apsis::detail {
namespace {

struct SharedStages {
  std::atomic<std::uint32_t> refs{1};
  std::optional<JitCore> core;  // its results may be functions of the table
  EntryRef entry;
  std::string argument_names;
  std::shared_ptr<const Program> program;  // once compiled, with these options
  CodegenOptions codegen;
};
SharedStages* stages_of(void* p) { return static_cast<SharedStages*>(p); }

Array array_of(Node* node) {
  node->refs.fetch_add(1, std::memory_order_relaxed);
  return Array::adopt(node);
}

/// Refuses what the program was not made for.
void check_call(const SharedStages& s, const JitCall& call) {
  const CallSignature& want = s.entry->signature;
  if (!(call.key ? want.key == *call.key : want.key.empty())) {
    SignatureText now(*call.type, call.site, s.argument_names);
    fail(messages::compiled_static, {joined_differences(*s.entry->text, now, false)});
  }
  APSIS_ASSERT(want.avals.size() == call.nodes.size());  // the key holds all sizes
  for (std::size_t i = 0; i < call.nodes.size(); ++i) {
    Node* n = call.nodes[i];
    bool same = n ? want.avals[i] && want.avals[i].dtype() == n->aval.dtype() &&
                        want.avals[i].shape() == n->aval.shape()
                  : !want.avals[i];
    const std::string& path = s.entry->text->leaf_path(i);
    if (!same) {
      auto text = [](const Aval& a) { return a ? to_string(a) : std::string("empty"); };
      fail(messages::compiled_argument, {path, text(want.avals[i]), text(n ? n->aval : Aval())});
    }
    if (n && n->kind == NodeKind::Abstract) fail_leaked(array_of(n), "compiled", {});
    if (n && !is_value(n)) fail(messages::compiled_traced, {path});
  }
}

}  // namespace

Stages make_stages(EntryRef entry, std::string argument_names, std::optional<JitCore> core) {
  auto* s = new SharedStages;
  s->core = std::move(core);
  s->entry = std::move(entry);
  s->argument_names = std::move(argument_names);
  return Stages(s);
}

Stages::Stages(const Stages& other) noexcept : shared_(other.shared_) {
  if (shared_) stages_of(shared_)->refs.fetch_add(1, std::memory_order_relaxed);
}
Stages::~Stages() {
  if (shared_ && stages_of(shared_)->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete stages_of(shared_);
}

Stages Stages::trace(const JitCall& call, const JitOptions& options, Loc loc) {
  static const std::string reason = "it is traced ahead of time";
  TraceNotice notice(options.name, reason);
  auto text = std::make_shared<const SignatureText>(*call.type, call.site, options.arguments);
  return make_stages(trace_entry(call, options.name, std::move(text), options.checks, loc),
                     options.arguments);
}

Stages Stages::compile(const CompileOptions& options) const {
  const SharedStages& s = *stages_of(shared_);
  if (captures_tracers(*s.entry)) fail(messages::compile_captures, {});
  CodegenOptions codegen = codegen_options(options);
  Stages compiled = make_stages(s.entry, s.argument_names, s.core);
  stages_of(compiled.shared_)->codegen = codegen;
  stages_of(compiled.shared_)->program = program_for(s.entry->graph, codegen);
  return compiled;
}

void Stages::run(const JitCall& call, JitResults& results, Loc loc) const {
  const LocScope place(loc);
  SharedStages& s = *stages_of(shared_);
  check_call(s, call);
  if (s.program)
    run_entry(*s.entry, *s.program, call, results);
  else  // compiled as the process ends
    bind_entry(*s.entry, call, "compile", false, results);
  results.keep(EntryRef(s.entry).release(), &EntryRef::drop);
}

std::string Stages::graph_text() const { return text_with_scopes(*stages_of(shared_)->entry->graph); }
std::string Stages::code_text() const {
  const SharedStages& s = *stages_of(shared_);
  return detail::code_text(*strip_custom(*s.entry->graph), s.codegen);
}

}  // namespace apsis::detail
