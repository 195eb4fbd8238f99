#pragma once

#include "apsis/tree/tree.hpp"

namespace apsis {

/// A value holder for a tree of any copyable type; a tree itself: its leaves are those of what it holds, and
/// the type of what it holds is part of the key. Options that take "any controller" keep an AnyTree and
/// function pointers of their own, and list it with APSIS_FIELDS.
class AnyTree {
 public:
  AnyTree() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, AnyTree>) explicit AnyTree(T&& tree)
      : type_(&tree_type<std::remove_cvref_t<T>>), tree_(new std::remove_cvref_t<T>(static_cast<T&&>(tree))) {
    static_assert(std::is_copy_constructible_v<std::remove_cvref_t<T>>);
  }
  AnyTree(const AnyTree& other)
      : type_(other.type_), tree_(other.tree_ ? type_->copy(other.tree_) : nullptr) {}
  AnyTree(AnyTree&& other) noexcept : type_(other.type_), tree_(other.tree_) {
    other.type_ = nullptr;
    other.tree_ = nullptr;
  }
  AnyTree& operator=(AnyTree other) noexcept {
    const TreeType* type = type_;
    void* tree = tree_;
    type_ = other.type_;
    tree_ = other.tree_;
    other.type_ = type;
    other.tree_ = tree;
    return *this;
  }
  ~AnyTree() {
    if (tree_) type_->destroy(tree_);
  }

  /// Null when nothing is held.
  const TreeType* type() const { return type_; }
  void* tree() { return tree_; }
  const void* tree() const { return tree_; }
  /// What is held if it is a `T`, otherwise null.
  template <class T>
  const T* as() const {
    return type_ == &tree_type<T> ? static_cast<const T*>(tree_) : nullptr;
  }

 private:
  const TreeType* type_ = nullptr;
  void* tree_ = nullptr;
};

template <>
struct tree_trait<AnyTree> {
  using leaf = Array;
  static TreeRef erased(AnyTree& self) { return {self.type(), self.tree()}; }
  static ConstTreeRef erased(const AnyTree& self) { return {self.type(), self.tree()}; }
};

}  // namespace apsis
