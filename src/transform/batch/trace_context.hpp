#pragma once

#include <string>

namespace apsis::detail {

/// What a trace may depend on besides its arguments: the named axes of the vmaps around it, with their sizes,
/// as text. Empty outside of them.
std::string trace_context();
/// Told whenever an axis is looked up by its name: what is being traced depends on it.
void note_context_use();

/// Whether what is traced while it lives depends on the context.
class ContextUse {
 public:
  ContextUse();
  ~ContextUse();
  ContextUse(const ContextUse&) = delete;
  ContextUse& operator=(const ContextUse&) = delete;
  bool used() const;

 private:
  bool before_;
};

}  // namespace apsis::detail
