#pragma once

#include <string_view>

namespace apsis {

/// See `named_scope`.
class NamedScope {
 public:
  explicit NamedScope(std::string_view name);
  ~NamedScope();
  NamedScope(const NamedScope&) = delete;
  NamedScope& operator=(const NamedScope&) = delete;

 private:
  const char* outer_;
};

/// While the result lives, what this thread does carries the name: programs print it behind each equation,
/// and errors end with it. Scopes within scopes join by `/`. (JAX: named_scope.)
///
///   auto scope = named_scope("encoder");
[[nodiscard]] inline NamedScope named_scope(std::string_view name) { return NamedScope(name); }

namespace detail {

/// `encoder/attention`, kept for ever; null outside all scopes.
const char* current_scope();

/// Back in the scope in which something was written: for code that runs a program again.
class ScopeOf {
 public:
  explicit ScopeOf(const char* scope);  // null: the current one stays
  ~ScopeOf();
  ScopeOf(const ScopeOf&) = delete;
  ScopeOf& operator=(const ScopeOf&) = delete;

 private:
  const char* outer_;
};

}  // namespace detail
}  // namespace apsis
