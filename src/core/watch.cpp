#include "apsis/core/watch.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "apsis/base/keep_library.hpp"

namespace apsis::detail {

std::atomic<int> arrays_watched{0}, tracers_watched{0};

namespace {

struct Noted {
  std::uint64_t order;
  const TracerWatch* watch;  // null for arrays
  TracerWatch::Left what;
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<const Node*, Noted> nodes;
  std::uint64_t next = 0;

  void note(const Node* node, Noted noted) {
    std::scoped_lock lock(mutex);
    noted.order = next++;
    nodes.insert_or_assign(node, std::move(noted));
  }
  void forget(const Node* node) {
    std::scoped_lock lock(mutex);
    nodes.erase(node);
  }
  template <class Choose>
  std::vector<TracerWatch::Left> list(Choose&& choose) {
    std::scoped_lock lock(mutex);
    std::vector<const Noted*> found;
    for (const auto& [node, noted] : nodes)
      if (choose(noted)) found.push_back(&noted);
    std::ranges::sort(found, {}, [](const Noted* n) { return n->order; });
    std::vector<TracerWatch::Left> out;
    for (const Noted* n : found) out.push_back(n->what);
    return out;
  }
  template <class Choose>
  void drop(Choose&& choose) {
    std::scoped_lock lock(mutex);
    std::erase_if(nodes, [&](const auto& entry) { return choose(entry.second); });
  }
};

// Kept for ever: arrays in static storage outlive everything else.
Registry& arrays() {
  static auto* r = new Registry;
  return *r;
}
Registry& tracers() {
  static auto* r = new Registry;
  return *r;
}

thread_local TracerWatch* innermost = nullptr;
std::atomic<CompileListener> listener{nullptr};

}  // namespace

ArrayWatch::ArrayWatch() { arrays_watched.fetch_add(1); }
ArrayWatch::~ArrayWatch() {
  if (arrays_watched.fetch_sub(1) == 1) arrays().drop([](const Noted&) { return true; });
}

std::vector<Aval> live_avals() {
  std::vector<Aval> avals;
  for (TracerWatch::Left& left : arrays().list([](const Noted&) { return true; }))
    avals.push_back(std::move(left.aval));
  return avals;
}

TracerWatch::TracerWatch() : outer_(innermost) {
  innermost = this;
  tracers_watched.fetch_add(1);
}
TracerWatch::~TracerWatch() {
  innermost = outer_;
  tracers_watched.fetch_sub(1);
  tracers().drop([this](const Noted& n) { return n.watch == this; });
}
std::vector<TracerWatch::Left> TracerWatch::left() const {
  return tracers().list([this](const Noted& n) { return n.watch == this; });
}

CompileListener on_compile(CompileListener next) {
  keep_library(reinterpret_cast<const void*>(next));
  return listener.exchange(next);
}
CompileListener compile_listener() { return listener.load(std::memory_order_relaxed); }

void note_array(const Node* node) { arrays().note(node, {0, nullptr, {0, node->aval, {}}}); }
void forget_array(const Node* node) { arrays().forget(node); }
void note_tracer(const Node* node, std::uint64_t tag, Loc loc) {
  if (innermost) tracers().note(node, {0, innermost, {tag, node->aval, loc}});
}
void forget_tracer(const Node* node) { tracers().forget(node); }

}  // namespace apsis::detail
