#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "apsis/core/dtype.hpp"
#include "apsis/core/shape.hpp"

namespace apsis {

/// Lists are made and read by loops only. A `One` is a sequence, of a length known at run time, of arrays of
/// the aval's dtype and shape. `PerLane`: axis 0 of the shape counts lanes, each of which has a list of its
/// own length.
enum class ListKind : std::uint8_t { None, One, PerLane };

/// What is known of an array without its values: dtype, weakness, shape.
struct AvalData {
  Dtype dtype = Dtype::F64;
  bool weak = false;
  ListKind list = ListKind::None;
  Shape shape;
  friend bool operator==(const AvalData&, const AvalData&) = default;
};

namespace detail {
struct AvalNode {
  AvalData data;
  std::int64_t count;  // elements
  std::uint64_t hash;
  bool interned;  // interned nodes live for ever and are equal only if they are the same
  std::atomic<std::uint32_t> refs{0};
};
void destroy_aval(const AvalNode* node);
}  // namespace detail

/// A handle on an immutable AvalData. The common ones are interned, so equality is mostly one comparison of
/// pointers; the table is bounded, and what does not fit in it is reference-counted.
class Aval {
 public:
  Aval() = default;
  /// Interns `data` if the table has room.
  explicit Aval(const AvalData& data);
  Aval(Dtype dtype, const Shape& shape, bool weak = false)
      : Aval(AvalData{dtype, weak, ListKind::None, shape}) {}
  Aval(const Aval& other) : node_(other.node_) { retain(); }
  Aval(Aval&& other) noexcept : node_(other.node_) { other.node_ = nullptr; }
  Aval& operator=(Aval other) noexcept {
    const detail::AvalNode* n = node_;
    node_ = other.node_;
    other.node_ = n;
    return *this;
  }
  ~Aval() { release(); }

  explicit operator bool() const { return node_ != nullptr; }
  const AvalData& operator*() const { return node_->data; }
  const AvalData* operator->() const { return &node_->data; }
  Dtype dtype() const { return node_->data.dtype; }
  bool weak() const { return node_->data.weak; }
  bool is_list() const { return node_->data.list != ListKind::None; }
  ListKind list() const { return node_->data.list; }
  const Shape& shape() const { return node_->data.shape; }
  int rank() const { return node_->data.shape.rank(); }
  /// Number of elements (of one entry, for a list).
  std::int64_t size() const { return node_->count; }
  std::size_t bytes() const { return static_cast<std::size_t>(node_->count) * item_size(node_->data.dtype); }
  std::uint64_t hash() const { return node_->hash; }
  const detail::AvalNode* node() const { return node_; }

  friend bool operator==(const Aval& a, const Aval& b) {
    if (a.node_ == b.node_) return true;
    if (!a.node_ || !b.node_ || (a.node_->interned && b.node_->interned)) return false;
    return a.node_->hash == b.node_->hash && a.node_->data == b.node_->data;
  }

 private:
  void retain() const {
    if (node_ && !node_->interned)
      const_cast<detail::AvalNode*>(node_)->refs.fetch_add(1, std::memory_order_relaxed);
  }
  void release() const {
    if (node_ && !node_->interned &&
        const_cast<detail::AvalNode*>(node_)->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
      detail::destroy_aval(node_);
  }
  const detail::AvalNode* node_ = nullptr;
};

/// `f64[2,3]`, weak ones `~f64[]`, lists `list<f64[3]>`, a list for each of eight lanes `lists<f64[8,3]>`.
std::string to_string(const Aval& aval);

}  // namespace apsis
