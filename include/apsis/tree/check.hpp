#pragma once

// The sentences a compiler prints for what cannot be in a tree. They stand in a class template of their own,
// so that its arguments (the struct, the member's name) are shown in the line above the sentence.

#include "apsis/tree/kind.hpp"

namespace apsis::detail {

constexpr bool is_refused(TreeKind kind) { return kind >= TreeKind::Float; }
constexpr bool is_floating(TreeKind kind) { return kind >= TreeKind::Float && kind <= TreeKind::Complex; }

/// What is one value as far as keys and texts are concerned. Floating-point values and views occur inside
/// `Static` and as keys of maps only.
template <class T>
inline constexpr bool is_static_value = tree_kind<T> == TreeKind::Static ||
                                        is_floating(tree_kind<T>) || std::is_same_v<T, std::string_view>;

/// Where a child's floating-point values are allowed: in the content of a `Static`.
enum class Floats { Refused, Baked };

/// Whether a child of type `T` is visited; otherwise it is refused with a sentence.
template <class T, Floats floats>
inline constexpr bool is_admitted =
    !is_refused(tree_kind<T>) || (floats == Floats::Baked && is_static_value<T>);

/// (As a constant of its own: of a comparison clang would print both sides.)
template <TreeKind kind, TreeKind other>
inline constexpr bool is_kind = kind == other;

template <class Parent, FixedName member, class Member, TreeKind kind>
struct CheckMember {
  static_assert(
      !is_kind<kind, TreeKind::Float>,
      "a bare `float` member of a transformed struct: use Array to trace it or Static<float> to bake it in");
  static_assert(!is_kind<kind, TreeKind::Double>,
                "a bare `double` member of a transformed struct: use Array to trace it or Static<double> to "
                "bake it in");
  static_assert(
      !is_kind<kind, TreeKind::Complex>,
      "a bare `std::complex` member of a transformed struct: use Array to trace it or Static to bake it in");
  static_assert(!is_kind<kind, TreeKind::CArray>, "a C array member of a transformed struct: use std::array");
  static_assert(
      !is_kind<kind, TreeKind::RawPointer>,
      "a raw pointer or view as a member of a transformed struct: hold the value itself (std::string, "
      "std::vector) or a std::shared_ptr<const T>");
  static_assert(
      !is_kind<kind, TreeKind::Closure>,
      "a lambda that captures inside a transformed struct or its arguments: write a struct whose members are "
      "the captures, with a const operator()");
  static_assert(
      !is_kind<kind, TreeKind::Unknown>,
      "a type that is no tree inside a transformed struct: make it an aggregate, list its fields with "
      "APSIS_FIELDS(Type, a, b, ...), or specialise apsis::tree_trait");
};

template <class T>
struct CheckFixedMembers {
  template <class... Field>
  static constexpr bool blocked(TypeList<Field...>) {
    return !std::is_move_assignable_v<T> &&
           ((std::is_const_v<Field> || ...) || (std::is_move_assignable_v<Field> && ...));
  }
};

template <class T>
struct RefuseFixedMembers {
  static_assert(
      !CheckFixedMembers<T>::blocked(field_types<T>{}),
      "a const or reference member of a transformed struct: its value cannot be replaced, hold it by value");
};

/// Refuses a member, naming it.
template <class T, class Field, std::size_t index>
struct CheckField : CheckMember<T, FixedName<field_name<T, index>().size()>(field_name<T, index>()), Field,
                                tree_kind<Field>> {};
/// Refuses the element type of a container.
template <class T, class Element>
struct CheckElement : CheckMember<T, FixedName<7>("element"), Element, tree_kind<Element>> {};
/// Holders whose content is known at run time may hold Arrays, unless their trait says that they never do.
template <class T>
inline constexpr bool has_erased_leaves = tree_kind<T> == TreeKind::Erased && !requires {
  tree_trait<T>::is_static;
};

/// Refuses what is baked in and cannot be part of a key: the content of a `Static`, the key of a map.
template <class T, TreeKind kind = tree_kind<T>>
struct CheckStatic {
  static_assert(!is_kind<kind, TreeKind::Leaf> && !is_kind<kind, TreeKind::Erased>,
                "a `Static` of a type with Arrays: an Array is traced, it cannot be baked in");
  static_assert(
      !is_kind<kind, TreeKind::RawPointer>,
      "a pointer or view in a `Static`, or as the key of a map: what it points to may change, so it "
      "cannot be part of the cache key; hold a std::string or std::vector");
  static_assert(
      !is_kind<kind, TreeKind::Closure>,
      "a lambda that captures in a `Static`: what it captured cannot be part of the cache key; write a "
      "struct whose members are the captures, with a const operator()");
  static_assert(!is_kind<kind, TreeKind::CArray>, "a C array in a `Static`: use std::array");
  static_assert(
      !is_kind<kind, TreeKind::Unknown>,
      "a type whose value cannot be part of the cache key, in a `Static` or as the key of a map: make it an "
      "aggregate, list its fields with APSIS_FIELDS(Type, a, b, ...), or hold what tells its values apart "
      "(a std::vector for a set, the count of a duration, a function pointer for a std::function)");
};

/// Refuses what is no tree at all, for the argument of an algorithm.
template <class T, bool refused = is_refused(tree_kind<T>)>
struct CheckTree : CheckMember<T, FixedName<8>("argument"), T, tree_kind<T>> {};
template <class T>
struct CheckTree<T, false> {};

}  // namespace apsis::detail
