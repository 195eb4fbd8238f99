#pragma once

// What code that is not a template knows of a tree's type: one constexpr record of function pointers a type,
// whose address is the type's identity. Everything off the hot path (paths, printing, comparing, explaining)
// is written once against it.

#include <string>
#include <string_view>

#include "apsis/tree/key.hpp"

namespace apsis {

namespace detail {
class TreeVisitor;
}

/// A function called with the address of each leaf in turn.
struct LeafVisitor {
  void* context;
  void (*call)(void* context, void* leaf);
};

/// The record of a tree's type. `&tree_type<T>` identifies `T`.
struct TreeType {
  std::string_view (*name)();
  void (*walk)(const void* tree, detail::TreeVisitor& visitor);
  void (*append_key)(const void* tree, StaticKey& key);
  void (*each_leaf)(const void* tree, LeafVisitor visit);
  void (*each_leaf_mutable)(void* tree, LeafVisitor visit);
  void* (*copy)(const void* tree);  // null for types that cannot be copied
  void (*destroy)(void* tree);
};

/// A tree whose type is known at run time only.
struct TreeRef {
  const TreeType* type;
  void* tree;
};
/// A tree that is only read, whose type is known at run time only.
struct ConstTreeRef {
  const TreeType* type;
  const void* tree;
  ConstTreeRef(const TreeType* type_, const void* tree_) : type(type_), tree(tree_) {}
  ConstTreeRef(TreeRef ref) : type(ref.type), tree(ref.tree) {}
};

}  // namespace apsis
