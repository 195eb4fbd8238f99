#include "transform/batch/trace_context.hpp"

#include "transform/batch/batch.hpp"

namespace apsis::detail {
namespace {

thread_local bool context_used = false;

}  // namespace

std::string trace_context() {
  std::string text;
  for (const Trace* t = current_trace(); t; t = t->parent()) {
    auto* vmap = dynamic_cast<const BatchTrace*>(t);
    if (!vmap || vmap->axis().name.empty()) continue;
    text += (text.empty() ? "" : ", ") + std::string(vmap->axis().name) + ": " +
            std::to_string(vmap->axis().size);
  }
  return text;
}

void note_context_use() { context_used = true; }

ContextUse::ContextUse() : before_(context_used) { context_used = false; }
ContextUse::~ContextUse() { context_used |= before_; }  // what is around depends on it too
bool ContextUse::used() const { return context_used; }

}  // namespace apsis::detail
