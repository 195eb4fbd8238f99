#pragma once

// Trees: Arrays inside structs and containers, as they are. Leaves (`Array`) are traced; integers, bools,
// enums, strings, function pointers, stateless callables and `Static<T>` are part of the cache key.
//
//   struct Linear { Array weight, bias; };
//   struct Model { std::vector<Linear> layers; Activation activation; Static<double> slope; };
//   auto [leaves, def] = flatten(model);                  // leaves in declaration order, and everything else
//   Model same = unflatten<Model>(def, leaves);           // the type is preserved
//   Model twice = tree_map([](const Array& x) { return 2. * x; }, model);
//   leaf_path(model, 1, "model");                         // "model.layers[0].bias"

#include <utility>
#include <vector>

#include "apsis/base/loc.hpp"
#include "apsis/tree/refused.hpp"
#include "apsis/tree/walk.hpp"

namespace apsis {

namespace detail {

inline constexpr int dynamic_count = -1;

template <class T>
constexpr int count_leaves();

template <class... T>
constexpr int add_leaves(TypeList<T...>) {
  int sum = 0;
  for (int count : {0, count_leaves<std::remove_const_t<T>>()...}) {
    if (count == dynamic_count) return dynamic_count;
    sum += count;
  }
  return sum;
}
template <class T, std::size_t... index>
constexpr int add_tuple_leaves(std::index_sequence<index...>) {
  return add_leaves(TypeList<std::remove_cvref_t<std::tuple_element_t<index, T>>...>{});
}

/// The number of leaves of every tree of type `T`, or `dynamic_count` where values decide.
template <class T>
constexpr int count_leaves() {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (kind == TreeKind::Leaf) {
    return 1;
  } else if constexpr (kind == TreeKind::Fields) {
    return add_leaves(field_types<T>{});
  } else if constexpr (kind == TreeKind::Tuple) {
    return add_tuple_leaves<T>(std::make_index_sequence<std::tuple_size<T>::value>{});
  } else if constexpr (kind == TreeKind::FixedArray) {
    constexpr int each = count_leaves<typename T::value_type>();
    return each == dynamic_count ? each : each * static_cast<int>(std::tuple_size<T>::value);
  } else if constexpr (kind == TreeKind::Sequence) {
    return tree_kind<typename T::value_type> == TreeKind::Static ? 0 : dynamic_count;
  } else if constexpr (kind == TreeKind::Map) {
    return tree_kind<typename T::mapped_type> == TreeKind::Static ? 0 : dynamic_count;
  } else if constexpr (kind == TreeKind::Static || is_refused(kind)) {
    return 0;
  } else {
    return dynamic_count;
  }
}

template <class T, class F>
constexpr void each_leaf_call(T& tree, F& f);

template <class T, class F>
[[gnu::always_inline]] constexpr void each_leaf(T& tree, F& f) {
  constexpr TreeKind kind = tree_kind<T>;
  (void)sizeof(CheckTree<std::remove_const_t<T>>);
  if constexpr (kind == TreeKind::Leaf) {
    f(tree);
  } else if constexpr (kind == TreeKind::Erased) {
    using Trait = tree_trait<std::remove_const_t<T>>;
    using Leaf = std::conditional_t<std::is_const_v<T>, const typename Trait::leaf, typename Trait::leaf>;
    auto ref = Trait::erased(tree);
    const Nested<Floats::Refused, std::remove_const_t<T>> nested(tree);
    LeafVisitor visit{const_cast<void*>(static_cast<const void*>(&f)), [](void* context, void* leaf) {
                        (*static_cast<F*>(context))(*static_cast<Leaf*>(leaf));
                      }};
    if (!ref.type) return;
    if constexpr (std::is_const_v<T>) {
      ref.type->each_leaf(ref.tree, visit);
    } else {
      ref.type->each_leaf_mutable(ref.tree, visit);
    }
  } else if constexpr (kind != TreeKind::Static) {
    // Not inlined below containers of dynamic size: types may contain containers of themselves.
    children(
        tree, [&f](auto& child, auto) __attribute__((always_inline)) {
          using Child = std::remove_const_t<std::remove_reference_t<decltype(child)>>;
          if constexpr (kind == TreeKind::Fields || kind == TreeKind::Tuple || kind == TreeKind::FixedArray) {
            if constexpr (count_leaves<Child>() != 0) each_leaf(child, f);
          } else {
            each_leaf_call(child, f);
          }
        });
  }
}
template <class T, class F>
constexpr void each_leaf_call(T& tree, F& f) {
  each_leaf(tree, f);
}

template <Floats floats, class T>
void append_key(const T& tree, StaticKey& key);

/// Whether a tree of type `T` has anything that its key must hold.
template <class T>
constexpr bool has_key();
template <class... T>
constexpr bool any_has_key(TypeList<T...>) {
  return (has_key<std::remove_const_t<T>>() || ...);
}
template <class T, std::size_t... index>
constexpr bool tuple_has_key(std::index_sequence<index...>) {
  return (has_key<std::remove_cvref_t<std::tuple_element_t<index, T>>>() || ...);
}
template <class T>
constexpr bool has_key() {
  constexpr TreeKind kind = tree_kind<T>;
  if constexpr (kind == TreeKind::Leaf) {
    return false;
  } else if constexpr (kind == TreeKind::Fields) {
    return any_has_key(field_types<T>{});
  } else if constexpr (kind == TreeKind::Tuple) {
    return tuple_has_key<T>(std::make_index_sequence<std::tuple_size<T>::value>{});
  } else if constexpr (kind == TreeKind::FixedArray) {
    return has_key<typename T::value_type>();
  } else {
    return !(kind == TreeKind::Static && std::is_empty_v<T>);
  }
}

/// Static values by their bits; strings with their length, so that neighbours cannot run together.
template <class T>
void append_static(const T& value, StaticKey& key) {
  if constexpr (is_static_wrapper<T>) {
    append_key<Floats::Baked>(value.value, key);
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
    key.append_value(value.size());
    key.append(value.data(), value.size());
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    key.append_value(value.size());
    for (bool bit : value) key.append_value(bit);
  } else if constexpr (tree_kind<T> == TreeKind::Complex) {
    append_static(value.real(), key);
    append_static(value.imag(), key);
  } else if constexpr (std::is_same_v<T, long double>) {
    key.append(&value, 10);  // the rest of its 16 bytes is padding
  } else if constexpr (!std::is_empty_v<T> && !std::is_null_pointer_v<T>) {
    key.append_value(value);  // (nullptr is one value, whose bytes say nothing)
  }
}

template <Floats floats, class T>
void append_key(const T& tree, StaticKey& key) {
  constexpr TreeKind kind = tree_kind<T>;
  constexpr bool baked = floats == Floats::Baked;
  if constexpr (is_static_value<T>) {
    append_static(tree, key);
  } else if constexpr (baked && (is_refused(kind) || kind == TreeKind::Leaf || has_erased_leaves<T>)) {
    (void)sizeof(CheckStatic<T>);
  } else if constexpr (kind == TreeKind::Erased) {
    ConstTreeRef ref = tree_trait<T>::erased(tree);
    key.append_value(ref.type);
    const Nested<floats, T> nested(tree);
    if (ref.type) ref.type->append_key(ref.tree, key);
  } else if constexpr (kind != TreeKind::Leaf && !is_refused(kind)) {
    constexpr bool fixed =
        kind == TreeKind::Fields || kind == TreeKind::Tuple || kind == TreeKind::FixedArray;
    if constexpr (!fixed) key.append_value(node_size(tree));
    children<floats>(tree, [&key](const auto& child, auto step) {
      using Child = std::remove_cvref_t<decltype(child)>;
      if constexpr (requires { *step.key; }) append_key<Floats::Baked>(*step.key, key);
      if constexpr (!fixed || has_key<Child>()) append_key<floats>(child, key);
    });
  }
}

template <class T>
constexpr auto copy_or_null() {
  if constexpr (std::is_copy_constructible_v<T>) {
    return +[](const void* tree) -> void* { return new T(*static_cast<const T*>(tree)); };
  } else {
    return static_cast<void* (*)(const void*)>(nullptr);
  }
}

template <class T>
void visit_leaves(T& tree, LeafVisitor visit) {
  auto call = [&visit](auto& leaf) {
    visit.call(visit.context, const_cast<void*>(static_cast<const void*>(&leaf)));
  };
  each_leaf(tree, call);
}

}  // namespace detail

/// The record of `T`: its address identifies the type.
template <class T>
inline constexpr TreeType tree_type{
    &detail::type_name_of<T>,
    [](const void* tree, detail::TreeVisitor& visitor) {
      detail::walk<detail::Floats::Refused>(*static_cast<const T*>(tree), visitor);
    },
    [](const void* tree, StaticKey& key) {
      detail::append_key<detail::Floats::Refused>(*static_cast<const T*>(tree), key);
    },
    [](const void* tree, LeafVisitor visit) { detail::visit_leaves(*static_cast<const T*>(tree), visit); },
    [](void* tree, LeafVisitor visit) { detail::visit_leaves(*static_cast<T*>(tree), visit); },
    detail::copy_or_null<T>(),
    [](void* tree) { delete static_cast<T*>(tree); }};

/// A tree without its type, for functions that are no templates.
template <class T>
ConstTreeRef tree_ref(const T& tree) {
  return {&tree_type<T>, &tree};
}

/// The number of leaves of every tree of type `T`; -1 where it depends on the value (vectors, optionals, …).
template <class T>
inline constexpr int static_leaf_count = detail::count_leaves<std::remove_cvref_t<T>>();

/// Calls `f(leaf)` for each leaf in declaration order: by reference, so that `f` may read, change or move out
/// of it. Straight-line code without allocation where the shape is known at compile time.
template <class T, class F>
[[gnu::always_inline]] constexpr void for_each_leaf(T&& tree, F&& f) {
  if constexpr (detail::is_admitted_tree<std::remove_cvref_t<T>>)
    detail::each_leaf(tree, f);
  else
    (void)sizeof(detail::refusal_of<std::remove_cvref_t<T>>);
}

/// Throws for a tree that is nested too deeply (a cycle of pointers, a list of many nodes), which copying it
/// would not do.
template <class T>
void check_nesting(const T& tree) {
  if constexpr (static_leaf_count<T> < 0) for_each_leaf(tree, [](const auto&) {});
}

/// The number of leaves of this tree, empty ones included.
template <class T>
constexpr std::size_t leaf_count(const T& tree) {
  if constexpr (static_leaf_count<T> >= 0) {
    return static_cast<std::size_t>(static_leaf_count<T>);
  } else {
    std::size_t count = 0;
    for_each_leaf(tree, [&count](const auto&) { ++count; });
    return count;
  }
}

/// Whether trees of type `T` differ in nothing but their leaves, so that their key is always empty.
template <class T>
inline constexpr bool is_static_shape = !detail::has_key<std::remove_cvref_t<T>>();

/// Appends everything of the tree that is not a leaf to a cache key. The type itself is not part of it.
template <class T>
void append_static_key(const T& tree, StaticKey& key) {
  if constexpr (!detail::is_admitted_tree<T>)
    (void)sizeof(detail::refusal_of<T>);
  else if constexpr (!is_static_shape<T>)
    detail::append_key<detail::Floats::Refused>(tree, key);
}

/// What `flatten` leaves of a tree: its type, shape and static values, shared and immutable.
class TreeDef {
 public:
  TreeDef() = default;
  TreeDef(const TreeDef& other) noexcept;
  TreeDef(TreeDef&& other) noexcept : shared_(other.shared_) { other.shared_ = nullptr; }
  TreeDef& operator=(TreeDef other) noexcept {
    Shared* mine = shared_;
    shared_ = other.shared_;
    other.shared_ = mine;
    return *this;
  }
  ~TreeDef();
  /// Takes over `prototype`, a tree made by `new`, and empties nothing: pass one whose leaves are empty.
  TreeDef(const TreeType* type, void* prototype, std::size_t leaf_count);

  const TreeType* type() const;
  std::size_t leaf_count() const;
  const StaticKey& key() const;
  /// The tree itself, with empty leaves.
  ConstTreeRef prototype() const;
  friend bool operator==(const TreeDef& a, const TreeDef& b);

 private:
  struct Shared;
  Shared* shared_ = nullptr;
};

/// What `flatten` returns.
template <class Leaf>
struct Flat {
  std::vector<Leaf> leaves;
  TreeDef def;
};

namespace detail {
[[noreturn]] void fail_leaf_count(ConstTreeRef tree, std::size_t expected, std::size_t given);
[[noreturn]] void fail_tree_type(const TreeType* expected, const TreeType* given);
}  // namespace detail

/// The leaves in declaration order (moved out of an rvalue), and the rest as a `TreeDef`.
template <class Leaf = Array, class T>
Flat<Leaf> flatten(T&& tree) {
  using Tree = std::remove_cvref_t<T>;
  Flat<Leaf> flat;
  if constexpr (!detail::is_admitted_tree<Tree>) {
    (void)sizeof(detail::refusal_of<Tree>);
    return flat;
  } else {
    flat.leaves.reserve(leaf_count(tree));
    Tree* prototype = new Tree(static_cast<T&&>(tree));
    struct Owner {
      Tree* tree;
      ~Owner() { delete tree; }
    } owner{prototype};
    for_each_leaf(*prototype, [&flat](Leaf& leaf) {
      flat.leaves.push_back(static_cast<Leaf&&>(leaf));
      leaf = Leaf();
    });
    flat.def = TreeDef(&tree_type<Tree>, prototype, flat.leaves.size());
    owner.tree = nullptr;
    return flat;
  }
}

/// Assigns `leaves[0], leaves[1], …` to the leaves of `tree`, from a range of as many leaves; moves out of an
/// rvalue. Throws when the numbers differ.
template <class T, class Leaves>
void assign_leaves(T& tree, Leaves&& leaves, Loc loc = Loc::here()) {
  const LocScope place(loc);
  std::size_t count = leaf_count(tree);
  if (count != leaves.size()) detail::fail_leaf_count(tree_ref(tree), count, leaves.size());
  auto next = leaves.begin();
  for_each_leaf(tree, [&next](auto& leaf) {
    if constexpr (std::is_lvalue_reference_v<Leaves>) {
      leaf = *next;
    } else {
      leaf = static_cast<std::remove_reference_t<decltype(*next)>&&>(*next);
    }
    ++next;
  });
}

/// A copy of `prototype` with other leaves. Throws when their number differs.
template <class T, class Leaves>
T unflatten_like(const T& prototype, Leaves&& leaves, Loc loc = Loc::here()) {
  check_nesting(prototype);
  T tree = prototype;
  assign_leaves(tree, static_cast<Leaves&&>(leaves), loc);
  return tree;
}

/// The inverse of `flatten`. Throws when `def` is of another type than `T`, or the number of leaves differs.
template <class T, class Leaves>
T unflatten(const TreeDef& def, Leaves&& leaves, Loc loc = Loc::here()) {
  const LocScope place(loc);
  if (def.type() != &tree_type<T>) detail::fail_tree_type(&tree_type<T>, def.type());
  return unflatten_like(*static_cast<const T*>(def.prototype().tree), static_cast<Leaves&&>(leaves), loc);
}

}  // namespace apsis
