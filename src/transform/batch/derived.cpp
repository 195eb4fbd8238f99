#include "transform/batch/derived.hpp"

#include <unordered_map>

#include "base/own_of_thread.hpp"
#include "transform/checks/check_trace.hpp"

namespace apsis::detail {
namespace {

/// What is derived by the transformations that run on a thread.
struct DerivedPrograms {
  int running = 0;
  std::size_t count = 0;
  std::unordered_map<const Graph*, std::vector<std::pair<DerivedKey, Derived>>> by_program;

  void clear() {
    count = 0;
    by_program.clear();
  }
};
DerivedPrograms& derived_here() { return own_of_thread<DerivedPrograms, DerivedPrograms>(); }

/// Ops that are checked as they run are part of what is derived under the checks.
bool keeps_derived() { return derived_here().running != 0 && !CheckTrace::innermost(); }

constexpr std::size_t most_kept = 1000;  // a transformation may run for hours, op by op

}  // namespace

DerivedScope::DerivedScope() { ++derived_here().running; }
DerivedScope::~DerivedScope() {
  DerivedPrograms& here = derived_here();
  if (--here.running == 0 && here.count != 0) here.clear();
}

DerivedKey::DerivedKey(Derivation what, const Graph& graph)
    : graph_(&graph), words_{static_cast<std::int64_t>(what)} {
  add(trace_context());
}

void DerivedKey::add(std::string_view text) {
  add(static_cast<std::int64_t>(text.size()));
  text_ += text;
}

void DerivedKey::add(const Dims& dims) {
  add(static_cast<std::int64_t>(dims.size()));
  words_.insert(words_.end(), dims.begin(), dims.end());
}

void DerivedKey::add(const std::vector<bool>& mask) {
  add(static_cast<std::int64_t>(mask.size()));
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (i % 32 == 0) add(0);
    words_.back() |= std::int64_t{mask[i]} << (i % 32);
  }
}

void DerivedKey::add(const std::vector<Aval>& avals) {
  add(static_cast<std::int64_t>(avals.size()));
  avals_.insert(avals_.end(), avals.begin(), avals.end());
}

const Derived* find_derived(const DerivedKey& key) {
  if (!keeps_derived()) return nullptr;
  const auto& programs = derived_here().by_program;
  const auto known = programs.find(key.graph());
  if (known == programs.end()) return nullptr;
  for (const auto& [of, derived] : known->second)
    if (of == key) return &derived;
  return nullptr;
}

void keep_derived(const DerivedKey& key, Derived derived) {
  if (!keeps_derived()) return;
  DerivedPrograms& here = derived_here();
  if (here.count == most_kept) here.clear();
  here.by_program[key.graph()].emplace_back(key, std::move(derived));
  ++here.count;
}

}  // namespace apsis::detail
