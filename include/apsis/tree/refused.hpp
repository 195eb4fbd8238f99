#pragma once

// What cannot be in a tree, found by looking at types alone, before any algorithm is instantiated on them:
// compilers print the whole way from the user's line to a sentence, so it must be short.

#include <tuple>

#include "apsis/tree/check.hpp"

namespace apsis::detail {

/// Nothing to refuse; otherwise a type is refused by the struct that holds the sentence.
struct Admitted {};
template <class T>
struct Verdict {
  using type = T;
};
/// The first of several that is not Admitted. (No operator or function: to look one up, compilers would
/// complete what is refused, and print the sentence from there.)
template <class... V>
struct FirstRefusal : Verdict<Admitted> {};
template <class V, class... Rest>
struct FirstRefusal<V, Rest...> : Verdict<V> {};
template <class... Rest>
struct FirstRefusal<Admitted, Rest...> : FirstRefusal<Rest...> {};
template <class... V>
using first_refusal = Verdict<typename FirstRefusal<typename V::type...>::type>;

/// Refuses structs without reflection.
template <class T>
struct CheckReflection {
  static_assert(
      !has_base<T>,
      "a struct with a base class has no reflection: list the fields with APSIS_FIELDS(Type, a, b, ...)");
  static_assert(
      has_base<T> || !is_uncountable<T>,
      "a const or reference member of a transformed struct: its value cannot be replaced, hold it by "
      "value");
  static_assert(has_base<T> || is_uncountable<T> || !too_many_fields<T>,
                "a struct of more than 64 fields has no reflection: nest structs, or list the fields with "
                "APSIS_FIELDS(Type, a, b, ...)");
  static_assert(has_base<T> || too_many_fields<T> || !holds_c_array<T>,
                "a C array member of a transformed struct: use std::array");
};
template <class T>
constexpr bool has_reflection() {
  if constexpr (has_base<T>)
    return false;
  else if constexpr (too_many_fields<T>)
    return false;
  else
    return !holds_c_array<T>;
}
/// Refuses a class that inherits its list of fields.
template <class T>
struct CheckInheritance {
  static_assert(
      std::is_same_v<T, FieldAccess::type<T>>,
      "this class inherits APSIS_FIELDS from its base: give it an APSIS_FIELDS(Type, ...) of its own, "
      "which lists the members of both");
};

/// `Above`: the structs around, so that one that contains itself (by a container) is looked at once.
template <Floats floats, class T, class... Above>
constexpr auto find_refused();

template <class T, Floats floats, std::size_t index, class Field, class... Above>
constexpr auto find_in_field() {
  if constexpr (tree_kind<Field> == TreeKind::Leaf && floats == Floats::Refused)
    return Verdict<Admitted>{};
  else if constexpr (!is_admitted<Field, floats>)
    return Verdict<CheckMember<T, FixedName<field_name<T, index>().size()>(field_name<T, index>()), Field,
                               tree_kind<Field>>>{};
  else
    return find_refused<floats, Field, Above...>();
}
template <class T, Floats floats, class... Above, std::size_t... index, class... Field>
constexpr auto find_in_fields(std::index_sequence<index...>, TypeList<Field...>) {
  return first_refusal<
      decltype(find_in_field<T, floats, index, std::remove_const_t<Field>, Above..., T>())...>{};
}
template <class T, Floats floats, class Element, class... Above>
constexpr auto find_in_element() {
  if constexpr (!is_admitted<Element, floats>)
    return Verdict<CheckMember<T, FixedName<7>("element"), Element, tree_kind<Element>>>{};
  else
    return find_refused<floats, Element, Above...>();
}
template <class T, Floats floats, class... Above, std::size_t... index>
constexpr auto find_in_tuple(std::index_sequence<index...>) {
  return first_refusal<
      decltype(find_in_element<T, floats, std::remove_cvref_t<std::tuple_element_t<index, T>>,
                               Above...>())...>{};
}
template <class T, Floats floats, class... Above, template <class...> class Holder, class... Alternative>
constexpr auto find_in_alternatives(const Holder<Alternative...>*) {
  return first_refusal<decltype(find_in_element<T, floats, Alternative, Above...>())...>{};
}

template <Floats floats, class T, class... Above>
constexpr auto find_refused() {
  constexpr TreeKind kind = tree_kind<T>;
  constexpr bool baked = floats == Floats::Baked;
  if constexpr ((std::is_same_v<T, Above> || ...)) {
    return Verdict<Admitted>{};
  } else if constexpr (is_static_wrapper<T>) {
    return find_refused<Floats::Baked, typename T::value_type>();
  } else if constexpr (baked && is_static_value<T>) {
    return Verdict<Admitted>{};
  } else if constexpr (baked && (is_refused(kind) || kind == TreeKind::Leaf || has_erased_leaves<T>)) {
    return Verdict<CheckStatic<T>>{};
  } else if constexpr (is_refused(kind)) {
    return Verdict<CheckMember<T, FixedName<8>("argument"), T, kind>>{};
  } else if constexpr (kind == TreeKind::Fields) {
    if constexpr (FieldAccess::declared<T>) {
      if constexpr (!std::is_same_v<T, FieldAccess::type<T>>)
        return Verdict<CheckInheritance<T>>{};
      else
        return find_in_fields<T, floats, Above...>(std::make_index_sequence<field_types<T>::size>{},
                                                   field_types<T>{});
    } else if constexpr (HasTreeTrait<T>) {
      return find_in_fields<T, floats, Above...>(std::make_index_sequence<field_types<T>::size>{},
                                                 field_types<T>{});
    } else if constexpr (!has_reflection<T>()) {
      return Verdict<CheckReflection<T>>{};
    } else if constexpr (CheckFixedMembers<T>::blocked(field_types<T>{})) {
      return Verdict<RefuseFixedMembers<T>>{};
    } else {
      return find_in_fields<T, floats, Above...>(std::make_index_sequence<field_types<T>::size>{},
                                                 field_types<T>{});
    }
  } else if constexpr (kind == TreeKind::Tuple) {
    return find_in_tuple<T, floats, Above...>(std::make_index_sequence<std::tuple_size<T>::value>{});
  } else if constexpr (kind == TreeKind::FixedArray || kind == TreeKind::Sequence ||
                       kind == TreeKind::Optional) {
    return find_in_element<T, floats, typename T::value_type, Above...>();
  } else if constexpr (kind == TreeKind::Variant) {
    return find_in_alternatives<T, floats, Above...>(static_cast<const T*>(nullptr));
  } else if constexpr (kind == TreeKind::Map) {
    return first_refusal<decltype(find_refused<Floats::Baked, typename T::key_type>()),
                         decltype(find_in_element<T, floats, typename T::mapped_type, Above...>())>{};
  } else if constexpr (kind == TreeKind::Pointer) {
    return find_in_element<T, floats, std::remove_const_t<typename T::element_type>, Above...>();
  } else {
    return Verdict<Admitted>{};
  }
}

template <class T>
using refusal_of = typename decltype(find_refused<Floats::Refused, T>())::type;
/// Whether trees of type `T` hold nothing that is refused.
template <class T>
inline constexpr bool is_admitted_tree = std::is_same_v<refusal_of<T>, Admitted>;
template <>
inline constexpr bool is_admitted_tree<Array> = true;

/// Of several types the first refusal.
template <class... T>
using first_refusal_of = typename FirstRefusal<refusal_of<T>...>::type;

}  // namespace apsis::detail
