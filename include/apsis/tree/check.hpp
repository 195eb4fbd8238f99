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

template <class Parent, FixedName member, class Member, TreeKind kind>
struct CheckMember {
  static_assert(
      kind != TreeKind::Float,
      "a bare `float` member of a transformed struct: use Array to trace it or Static<float> to bake it in");
  static_assert(kind != TreeKind::Double,
                "a bare `double` member of a transformed struct: use Array to trace it or Static<double> to "
                "bake it in");
  static_assert(
      kind != TreeKind::Complex,
      "a bare `std::complex` member of a transformed struct: use Array to trace it or Static to bake it in");
  static_assert(kind != TreeKind::CArray, "a C array member of a transformed struct: use std::array");
  static_assert(
      kind != TreeKind::RawPointer,
      "a raw pointer or view as a member of a transformed struct: hold the value itself (std::string, "
      "std::vector) or a std::shared_ptr<const T>");
  static_assert(
      kind != TreeKind::Closure,
      "a lambda that captures inside a transformed struct or its arguments: write a struct whose members are "
      "the captures, with a const operator()");
  static_assert(
      kind != TreeKind::Unknown,
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
  static_assert(
      !blocked(field_types<T>{}),
      "a const or reference member of a transformed struct: its value cannot be replaced, hold it by value");
};

/// Refuses a member, naming it.
template <class T, class Field, std::size_t index>
struct CheckField : CheckMember<T, FixedName<field_name<T, index>().size()>(field_name<T, index>()), Field,
                                tree_kind<Field>> {};
/// Refuses the element type of a container.
template <class T, class Element>
struct CheckElement : CheckMember<T, FixedName<7>("element"), Element, tree_kind<Element>> {};
/// Refuses what is no tree at all, for the argument of an algorithm.
template <class T, bool refused = is_refused(tree_kind<T>)>
struct CheckTree : CheckMember<T, FixedName<8>("argument"), T, tree_kind<T>> {};
template <class T>
struct CheckTree<T, false> {};

}  // namespace apsis::detail
