#pragma once

// Functional replacement: a new tree that differs in one place.
//   Model frozen = at(model, &Model::layers, 1, &Linear::weight).set(w);
//   Model scaled = at(model, &Model::layers, 0).apply([](Linear l) { … return l; });

#include "apsis/tree/tree.hpp"

namespace apsis {

namespace detail {

[[noreturn]] void fail_at_index(long long index, std::size_t size, std::string_view type);
[[noreturn]] void fail_at_absent(const char* what);
[[noreturn]] void fail_at_key(const std::string& key, std::size_t size);

template <class T>
constexpr auto& locate(T& tree) {
  return tree;
}

/// What an optional or a pointer holds. Shared content is copied before it is changed.
template <class T>
auto& held(T& tree) {
  if (!static_cast<bool>(tree)) fail_at_absent(tree_kind<T> == TreeKind::Optional ? "optional" : "pointer");
  if constexpr (!std::is_const_v<T> && requires { tree.use_count(); }) {
    auto* copy = new std::remove_const_t<typename T::element_type>(*tree);
    tree.reset(copy);
    return *copy;
  } else {
    return *tree;
  }
}

template <class T, class Step, class... Rest>
auto& locate(T& tree, const Step& step, const Rest&... rest) {
  constexpr TreeKind kind = tree_kind<T>;
  using Bare = std::remove_const_t<T>;
  if constexpr (requires { tree.*step; }) {
    return locate(tree.*step, rest...);
  } else if constexpr (kind == TreeKind::Optional || kind == TreeKind::Pointer) {
    return locate(held(tree), step, rest...);
  } else if constexpr (kind == TreeKind::Map) {
    auto entry = tree.find(typename Bare::key_type(step));
    if (entry == tree.end()) {
      std::string key;
      print_baked(key, typename Bare::key_type(step));
      fail_at_key(key, tree.size());
    }
    return locate(entry->second, rest...);
  } else if constexpr (kind == TreeKind::Tuple) {
    constexpr bool known = requires { Step::value; };
    static_assert(known, "a tuple is indexed at compile time: write at(tree, nth<1>) instead of at(tree, 1)");
    using std::get;
    if constexpr (known)
      return locate(get<Step::value>(tree), rest...);
    else
      return (tree);
  } else {
    static_assert((kind == TreeKind::Sequence || kind == TreeKind::FixedArray) && std::is_integral_v<Step>,
                  "this step of `at` does not fit the tree: pass a pointer to a member of the struct reached "
                  "so far, an "
                  "index for a container, or a key for a map");
    long long index = static_cast<long long>(step);
    if (index < 0 || static_cast<std::size_t>(index) >= tree.size()) {
      fail_at_index(index, tree.size(), type_name<Bare>());
    }
    return locate(tree[static_cast<std::size_t>(step)], rest...);
  }
}

}  // namespace detail

/// A step of `at` into a tuple or a pair.
template <std::size_t i>
inline constexpr std::integral_constant<std::size_t, i> nth{};

/// A place in a tree, made by `at`.
template <class Tree, class Locate>
class Place {
 public:
  Place(Tree tree, Locate locate) : tree_(static_cast<Tree&&>(tree)), locate_(locate) {}

  /// What is there.
  auto get(Loc loc = Loc::here()) const {
    const LocScope place(loc);
    return locate_(tree_);
  }
  /// The tree with `value` there.
  template <class Value>
  Tree set(Value&& value, Loc loc = Loc::here()) && {
    const LocScope place(loc);
    locate_(tree_) = static_cast<Value&&>(value);
    return static_cast<Tree&&>(tree_);
  }
  template <class Value>
  Tree set(Value&& value, Loc loc = Loc::here()) const& {
    return Place(*this).set(static_cast<Value&&>(value), loc);
  }
  /// The tree with `f(x)` there, where `x` is what was.
  template <class F>
  Tree apply(F&& f, Loc loc = Loc::here()) && {
    const LocScope place(loc);
    auto& found = locate_(tree_);
    found = f(std::as_const(found));
    return static_cast<Tree&&>(tree_);
  }
  template <class F>
  Tree apply(F&& f, Loc loc = Loc::here()) const& {
    return Place(*this).apply(static_cast<F&&>(f), loc);
  }

 private:
  Tree tree_;
  Locate locate_;
};

/// The place in a copy of `tree` that the steps lead to: pointers to members (`&Model::layers`), indices of
/// containers, keys of maps, `nth<i>` for tuples; optionals and smart pointers are looked through. Throws
/// for an index out of range, a missing key, or an empty optional on the way.
template <class T, class... Step>
auto at(T&& tree, Step... step) {
  auto locate = [step...](auto& root) -> auto& { return detail::locate(root, step...); };
  return Place<std::remove_cvref_t<T>, decltype(locate)>(static_cast<T&&>(tree), locate);
}

}  // namespace apsis
