#pragma once

// What transformations make of the programs that a program calls. A function that is called thirty times is
// one Graph in thirty equations: what is derived of it for the first is there for the others.

#include <any>
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "transform/batch/trace_context.hpp"

namespace apsis::detail {

/// A transformation runs while it lives. What is derived while the outermost one of a thread runs is kept to
/// its end.
class DerivedScope {
 public:
  DerivedScope();
  ~DerivedScope();
  DerivedScope(const DerivedScope&) = delete;
  DerivedScope& operator=(const DerivedScope&) = delete;
};

enum class Derivation : std::uint8_t { Jvp, Jet, Split, Transpose, Batch };

/// What is derived, of which program (of this very object: equal ones may stand for other places of the
/// source), and all else that it depends on: the named axes in scope, and what is added here.
class DerivedKey {
 public:
  DerivedKey(Derivation what, const Graph& graph);
  void add(std::int64_t word) { words_.push_back(word); }
  void add(std::string_view text);
  void add(const Dims& dims);
  void add(const std::vector<bool>& mask);
  void add(const std::vector<Aval>& avals);
  const Graph* graph() const { return graph_.get(); }
  friend bool operator==(const DerivedKey& a, const DerivedKey& b) {
    return a.graph_.get() == b.graph_.get() && a.words_ == b.words_ && a.avals_ == b.avals_ &&
           a.text_ == b.text_;
  }

 private:
  GraphRef graph_;
  std::vector<std::int64_t> words_;
  std::vector<Aval> avals_;
  std::string text_;
};

/// A program made anew, and whether making it asked for named axes.
struct Derived {
  std::any made;
  bool uses_context = false;
};
/// Null if there is none yet.
const Derived* find_derived(const DerivedKey& key);
void keep_derived(const DerivedKey& key, Derived derived);

/// What `make()` makes, made once for a key while the outermost transformation runs.
template <class Make>
auto derived_once(const DerivedKey& key, Make&& make) {
  using Made = decltype(make());
  if (const Derived* known = find_derived(key)) {
    if (known->uses_context) note_context_use();
    return std::any_cast<Made>(known->made);
  }
  const ContextUse context;
  Made made = make();
  keep_derived(key, {made, context.used()});
  return made;
}

/// The same for a program and a mask: `make(mask)`.
template <class Make>
GraphRef derived_once(const DerivedKey& key, std::vector<bool>& mask, Make&& make) {
  auto [made, marked] = derived_once(key, [&] {
    std::vector<bool> own;
    GraphRef graph = make(own);
    return std::pair(std::move(graph), std::move(own));
  });
  mask = std::move(marked);
  return made;
}

}  // namespace apsis::detail
