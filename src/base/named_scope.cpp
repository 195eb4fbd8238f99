#include "apsis/base/named_scope.hpp"

#include <mutex>
#include <string>
#include <unordered_set>

namespace apsis {
namespace {

thread_local const char* current = nullptr;

/// One copy of each path. Programs keep pointers to them, so they stay; a program has few.
const char* kept(std::string path) {
  static auto* mutex = new std::mutex;
  static auto* paths = new std::unordered_set<std::string>;  // its nodes do not move
  std::lock_guard lock(*mutex);
  return paths->insert(std::move(path)).first->c_str();
}

}  // namespace

NamedScope::NamedScope(std::string_view name) : outer_(current) {
  current = kept(current ? std::string(current) + '/' + std::string(name) : std::string(name));
}
NamedScope::~NamedScope() { current = outer_; }

namespace detail {

const char* current_scope() { return current; }

ScopeOf::ScopeOf(const char* scope) : outer_(current) {
  if (scope) current = scope;
}
ScopeOf::~ScopeOf() { current = outer_; }

}  // namespace detail
}  // namespace apsis
