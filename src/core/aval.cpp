#include "apsis/core/aval.hpp"

#include <mutex>
#include <shared_mutex>
#include <unordered_set>

#include "base/hash.hpp"
#include "core/list.hpp"
#include "core/sizes.hpp"

namespace apsis {
namespace {

// Programs that keep changing shapes must not leak: past this many entries avals are reference-counted
// instead.
constexpr std::size_t intern_limit = 16384;
constexpr int scalar_slots = dtype_count * 2;

std::uint64_t hash_of(const AvalData& data) {
  std::uint64_t flags = static_cast<std::uint64_t>(data.dtype) | (data.weak ? 256u : 0u) |
                        static_cast<std::uint64_t>(data.list) << 10;
  return detail::hash_bytes(flags, data.shape.data(), data.shape.size() * sizeof(std::int64_t));
}

struct HashNode {
  using is_transparent = void;
  std::size_t operator()(const detail::AvalNode* n) const { return n->hash; }
};
struct SameNode {
  bool operator()(const detail::AvalNode* a, const detail::AvalNode* b) const {
    return a->hash == b->hash && a->data == b->data;
  }
};

struct InternTable {
  std::shared_mutex mutex;
  std::unordered_set<const detail::AvalNode*, HashNode, SameNode> nodes;
  const detail::AvalNode* scalars[scalar_slots];

  InternTable() {
    for (int i = 0; i < scalar_slots; ++i) {
      AvalData data{static_cast<Dtype>(i / 2), i % 2 == 1, ListKind::None, {}};
      scalars[i] = new detail::AvalNode{data, 1, hash_of(data), true, {}};
    }
  }
};

InternTable& table() {
  static auto* t = new InternTable;  // outlives every static Array
  return *t;
}

const detail::AvalNode* intern(const AvalData& data) {
  InternTable& t = table();
  if (data.shape.empty() && data.list == ListKind::None)
    return t.scalars[static_cast<int>(data.dtype) * 2 + (data.weak ? 1 : 0)];
  detail::AvalNode probe{data, detail::checked_count(data.dtype, data.shape), hash_of(data), true, {}};
  {
    std::shared_lock lock(t.mutex);
    if (auto it = t.nodes.find(&probe); it != t.nodes.end()) return *it;
  }
  std::unique_lock lock(t.mutex);
  if (auto it = t.nodes.find(&probe); it != t.nodes.end()) return *it;
  bool room = t.nodes.size() < intern_limit;
  auto* node = new detail::AvalNode{data, probe.count, probe.hash, room, {}};
  if (room)
    t.nodes.insert(node);
  else
    node->refs.store(1, std::memory_order_relaxed);
  return node;
}

}  // namespace

Aval::Aval(const AvalData& data) : node_(intern(data)) {}

namespace detail {
void destroy_aval(const AvalNode* node) { delete node; }
}  // namespace detail

std::string to_string(const Aval& aval) {
  if (!aval) return "empty";
  std::string out = aval.weak() ? "~" : "";
  out += name_of(aval.dtype());
  out += '[';
  for (std::size_t i = 0; i < aval.shape().size(); ++i) {
    if (i) out += ',';
    out += std::to_string(aval.shape()[i]);
  }
  out += ']';
  const bool lanes = detail::of_lanes(aval.list());
  for (int depth = detail::list_depth(aval.list()); depth > (lanes ? 1 : 0); --depth)
    out = "list<" + out + ">";
  for (ListKind level = aval.list(); detail::of_lanes(level); level = detail::without_lanes(level))
    out = "lists<" + out + ">";
  return out;
}

}  // namespace apsis
