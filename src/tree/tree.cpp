#include "apsis/tree/tree.hpp"

#include <atomic>

#include "apsis/base/keep_library.hpp"
#include "base/hash.hpp"
#include "tree/messages.hpp"

namespace apsis {

std::uint64_t StaticKey::hash() const { return detail::hash_bytes(0, data(), size_); }

void StaticKey::grow(std::size_t needed) {
  std::size_t capacity = capacity_ * 2 > needed ? capacity_ * 2 : needed;
  std::byte* bytes = new std::byte[capacity];
  std::memcpy(bytes, data(), size_);
  release();
  heap_ = bytes;
  capacity_ = capacity;
}

struct TreeDef::Shared {
  std::atomic<std::size_t> refs{1};
  const TreeType* type;
  void* prototype;
  std::size_t leaf_count;
  StaticKey key;
};

TreeDef::TreeDef(const TreeType* type, void* prototype, std::size_t leaf_count)
    : shared_(new Shared{.type = type, .prototype = prototype, .leaf_count = leaf_count, .key = {}}) {
  detail::keep_library(type);
  type->append_key(prototype, shared_->key);
}

TreeDef::TreeDef(const TreeDef& other) noexcept : shared_(other.shared_) {
  if (shared_) shared_->refs.fetch_add(1, std::memory_order_relaxed);
}

TreeDef::~TreeDef() {
  if (shared_ && shared_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    shared_->type->destroy(shared_->prototype);
    delete shared_;
  }
}

const TreeType* TreeDef::type() const { return shared_ ? shared_->type : nullptr; }
std::size_t TreeDef::leaf_count() const { return shared_ ? shared_->leaf_count : 0; }
const StaticKey& TreeDef::key() const {
  static const StaticKey none;
  return shared_ ? shared_->key : none;
}
ConstTreeRef TreeDef::prototype() const { return {type(), shared_ ? shared_->prototype : nullptr}; }

bool operator==(const TreeDef& a, const TreeDef& b) {
  return a.shared_ == b.shared_ || (a.type() == b.type() && a.key() == b.key());
}

namespace detail {

void fail_leaf_count(ConstTreeRef tree, std::size_t expected, std::size_t given) {
  fail(messages::tree_leaf_count,
       {std::string(tree.type->name()), std::to_string(expected), std::to_string(given)});
}

void fail_transpose(std::size_t outer, std::size_t leaves, std::size_t wanted, Loc loc) {
  fail(messages::tree_transpose, {std::to_string(outer), std::to_string(leaves), std::to_string(wanted)},
       loc);
}

void fail_tree_type(const TreeType* expected, const TreeType* given) {
  fail(messages::tree_type_differs,
       {std::string(expected->name()),
        given ? std::string(given->name()) : std::string("nothing (an empty TreeDef)")});
}

}  // namespace detail
}  // namespace apsis
