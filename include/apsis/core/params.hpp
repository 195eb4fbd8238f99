#pragma once

// For code that defines ops; not part of apsis.hpp.
//
// The static parameters of an op: a struct of its own, held by value behind a handle that can compare, hash
// and print it. For authors of ops, not part of apsis.hpp. A parameter struct lists its fields once:
//
//   struct SliceParams {
//     Dims start, limit, stride;
//     static void each(auto& self, auto&& visit) { visit("start", self.start); visit("limit", self.limit); …
//     }
//   };

#include <atomic>
#include <cstdint>
#include <string>

namespace apsis {

namespace detail {

class ParamsReader;
struct ParamsNode;
struct ParamsTable {
  bool (*equal)(const ParamsNode&, const ParamsNode&);
  std::uint64_t (*hash)(const ParamsNode&);
  void (*print)(const ParamsNode&, std::string&);
  void (*destroy)(const ParamsNode*);
  /// Appends the graphs held by the parameters (regions), in order.
  void (*regions)(const ParamsNode&, void (*visit)(void*, const void* graph), void* context);
  /// A copy with other regions: `map` gives the one to put in the place of each, and keeps it alive
  /// meanwhile.
  ParamsNode* (*with_regions)(const ParamsNode&, const void* (*map)(void*, const void* graph), void* context);
};
struct ParamsNode {
  const ParamsTable* table;
  std::atomic<std::uint32_t> refs{1};
  std::uint64_t hash = 0;
};
template <class T>
struct ParamsHolder : ParamsNode {
  T value;
  explicit ParamsHolder(T v) : value(static_cast<T&&>(v)) {}
};

}  // namespace detail

/// A shared, immutable, type-erased parameter struct; empty for ops without parameters.
class Params {
 public:
  Params() = default;
  Params(const Params& o) noexcept : node_(o.node_) {
    if (node_) node_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  Params(Params&& o) noexcept : node_(o.node_) { o.node_ = nullptr; }
  Params& operator=(Params o) noexcept {
    auto* n = node_;
    node_ = o.node_;
    o.node_ = n;
    return *this;
  }
  ~Params() {
    if (node_ && node_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) node_->table->destroy(node_);
  }
  /// The struct itself. The caller knows the type: each op has one.
  template <class T>
  const T& as() const {
    return static_cast<const detail::ParamsHolder<T>*>(node_)->value;
  }
  explicit operator bool() const { return node_ != nullptr; }
  std::uint64_t hash() const { return node_ ? node_->hash : 0; }
  const detail::ParamsNode* node() const { return node_; }
  friend bool operator==(const Params& a, const Params& b) {
    if (a.node_ == b.node_) return true;
    return a.node_ && b.node_ && a.node_->table == b.node_->table && a.node_->hash == b.node_->hash &&
           a.node_->table->equal(*a.node_, *b.node_);
  }
  static Params adopt(detail::ParamsNode* node) {
    Params p;
    p.node_ = node;
    return p;
  }

 private:
  detail::ParamsNode* node_ = nullptr;
};

/// `{start=[0], limit=[2]}`; nothing for empty parameters.
std::string to_string(const Params& params);

}  // namespace apsis
