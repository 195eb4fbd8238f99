#pragma once

// The fields of an aggregate, without a macro: how many, references to them, and (names.hpp) what they are
// called. The count is the largest number of initialisers the aggregate takes; an initialiser converts to any
// type, so a nested aggregate takes exactly one and braces are never elided, except by C arrays, which are
// refused.

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "apsis/tree/names.hpp"

namespace apsis::detail {

/// Converts to anything; never called. (Defined because overload resolution in the standard library's
/// constructors counts as a use, and clang wants uses with local types defined.)
struct AnyValue {
  template <class T>
  operator T() const noexcept {
    __builtin_unreachable();
  }
};
template <class Derived>
struct AnyBase {
  template <class T>
  requires(std::is_base_of_v<T, Derived> && !std::is_same_v<T, Derived>) operator T() const noexcept {
    __builtin_unreachable();
  }
};
struct Unrelated {};
/// A base class is initialised before the members. A first member that can be made of anything is no base.
template <class T>
inline constexpr bool has_base = requires {
  T{AnyBase<T>{}};
}
&&!requires { T{Unrelated{}}; };
template <std::size_t>
using AnyAt = AnyValue;

template <class T, std::size_t... i>
constexpr bool takes(std::index_sequence<i...>) {
  return requires { T{AnyAt<i>{}...}; };
}
/// Whether `T` can be initialised from `count` values.
template <class T, std::size_t count>
inline constexpr bool takes_values = takes<T>(std::make_index_sequence<count>{});

template <class T, std::size_t... before, std::size_t... after>
constexpr bool takes_braces(std::index_sequence<before...>, std::index_sequence<after...>) {
  return requires { T{AnyAt<before>{}..., {}, AnyAt<after>{}...}; };
}

/// Whether one of the members from `at` on is a C array of two or more elements. Such an array takes several
/// unbraced values, but as a whole one pair of braces, so that values are left over.
template <class T, std::size_t count, std::size_t at = 0>
constexpr bool has_c_array() {
  if constexpr (at + 1 >= count) {
    return false;
  } else if constexpr (takes_braces<T>(std::make_index_sequence<at>{}, std::index_sequence<>{}) &&
                       !takes_braces<T>(std::make_index_sequence<at>{},
                                        std::make_index_sequence<count - 1 - at>{})) {
    return true;
  } else {
    return has_c_array<T, count, at + 1>();
  }
}

template <class T, std::size_t from>
constexpr std::size_t count_values() {
  if constexpr (from <= max_fields && takes_values<T, from + 1>) {
    return count_values<T, from + 1>();
  } else {
    return from;
  }
}
/// Skips the counts that leave a member without initialiser which has no default.
template <class T, std::size_t from>
constexpr std::size_t first_count() {
  if constexpr (from > max_fields || takes_values<T, from>) {
    return from;
  } else {
    return first_count<T, from + 1>();
  }
}
/// Steps of eight first: fewer instantiations for large structs.
template <class T, std::size_t from>
constexpr std::size_t count_coarsely() {
  if constexpr (from + 8 <= max_fields && takes_values<T, from + 8>) {
    return count_coarsely<T, from + 8>();
  } else {
    return count_values<T, from>();
  }
}

/// Appends to the initialisers one that may be of another sort: members with a constructor from anything take
/// `AnyValue` in two ways, which is ambiguous, but `Unrelated` in one.
template <class T, class... Initialiser>
constexpr std::size_t count_mixed() {
  if constexpr (sizeof...(Initialiser) > max_fields) {
    return sizeof...(Initialiser);
  } else if constexpr (requires { T{Initialiser{}..., AnyValue{}}; }) {
    return count_mixed<T, Initialiser..., AnyValue>();
  } else if constexpr (requires { T{Initialiser{}..., Unrelated{}}; }) {
    return count_mixed<T, Initialiser..., Unrelated>();
  } else {
    return sizeof...(Initialiser);
  }
}
template <class T, std::size_t... i>
constexpr std::size_t count_beyond(std::index_sequence<i...>) {
  if constexpr (requires { T{AnyAt<i>{}..., Unrelated{}}; }) {
    return count_mixed<T, AnyAt<i>..., Unrelated>();
  } else {
    return sizeof...(i);
  }
}

/// The number of initialisers, C arrays of the struct counted by their elements.
template <class T>
constexpr std::size_t count_all() {
  constexpr std::size_t values = count_coarsely<T, first_count<T, 0>()>();
  return count_beyond<T>(std::make_index_sequence<values>{});
}
/// No number of initialisers makes a `T`: a member without default takes none of them.
template <class T>
inline constexpr bool is_uncountable = first_count<T, 0>() > max_fields && !takes_values<T, max_fields + 1>;
template <class T>
inline constexpr bool too_many_fields = count_all<T>() > max_fields;
template <class T>
inline constexpr bool holds_c_array =
    count_all<T>() == count_coarsely<T, first_count<T, 0>()>() && has_c_array<T, count_all<T>()>();

template <class T>
constexpr std::size_t count_fields() {
  static_assert(
      !has_base<T>,
      "a struct with a base class has no reflection: list the fields with APSIS_FIELDS(Type, a, b, ...)");
  if constexpr (has_base<T>) {
    return 0;
  } else {
    constexpr std::size_t count = count_all<T>();
    static_assert(count <= max_fields,
                  "a struct of more than 64 fields has no reflection: nest structs, or list the fields with "
                  "APSIS_FIELDS(Type, a, b, ...)");
    static_assert(
        count > 0 || std::is_empty_v<T>,
        "the fields of this struct cannot be counted: list them with APSIS_FIELDS(Type, a, b, ...)");
    constexpr bool array = holds_c_array<T>;
    static_assert(!array, "a C array member of a transformed struct: use std::array");
    return array || count > max_fields ? 0 : count;
  }
}

/// Number of fields of the aggregate `T`.
template <class T>
inline constexpr std::size_t field_count = count_fields<T>();

}  // namespace apsis::detail
