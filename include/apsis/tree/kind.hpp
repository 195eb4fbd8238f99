#pragma once

// What a type is in a tree. Containers are recognised by their members, so that their headers need not be
// included.

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "apsis/tree/fields.hpp"
#include "apsis/tree/leaf.hpp"
#include "apsis/tree/static.hpp"

namespace apsis::detail {

enum class TreeKind {
  Leaf,        // traced: Array
  Static,      // part of the cache key
  Fields,      // an aggregate, a class with APSIS_FIELDS, a foreign class with a trait
  Tuple,       // std::tuple, std::pair
  FixedArray,  // std::array
  Sequence,    // std::vector, std::deque, …
  Optional,    // std::optional
  Variant,     // std::variant
  Map,         // std::map, std::unordered_map
  Pointer,     // std::unique_ptr, std::shared_ptr
  Erased,      // a holder whose content is known at run time
  // Refused, each with a sentence of its own (check.hpp):
  Float,
  Double,
  Complex,
  CArray,
  RawPointer,
  Closure,
  Unknown,
};

// clang-format off
template <class T>
concept TupleLike = requires { std::tuple_size<T>::value; };
template <class T>
concept Holds = requires { typename T::value_type; };
template <class T>
concept Keyed = requires { typename T::key_type; };
template <class T>
concept ArrayLike = TupleLike<T> && Holds<T> && requires(const T& t) { t.data(); };
template <class T>
concept OptionalLike = Holds<T> && requires(T t) { *t; t.has_value(); t.reset(); };
template <class T>
concept Ranged = requires(const T& t) { t.begin(); t.end(); t.size(); };
template <class T>
concept MapLike = Ranged<T> && Keyed<T> && requires { typename T::mapped_type; };
template <class T>
concept SequenceLike = Ranged<T> && Holds<T> && !Keyed<T> && requires(T t) { t.resize(std::size_t{}); };
template <class T>
concept VariantLike = requires(const T& t) { t.index(); t.valueless_by_exception(); };
template <class T>
concept PointerLike = requires(const T& t) { typename T::element_type; *t; t.get(); static_cast<bool>(t); };
template <class T>
concept ComplexLike = Holds<T> && requires(const T& t) { t.real(); t.imag(); } &&
                      std::is_floating_point_v<typename T::value_type>;
template <class T>
concept SpanLike = Ranged<T> && requires(const T& t) { t.subspan(std::size_t{}); };
template <class T>
concept ViewLike = SpanLike<T> || (Ranged<T> && requires(T t) { t.remove_prefix(1); });
// clang-format on

template <class T>
inline constexpr bool is_static_wrapper = false;
template <class T>
inline constexpr bool is_static_wrapper<Static<T>> = true;

/// Compilers print closures as `f()::<lambda(int)>` (gcc) or `(lambda at file:1:2)` (clang): the last
/// bracket's content tells.
constexpr bool names_closure(std::string_view type) {
  char close = type.empty() ? ' ' : type.back(), open = close == '>' ? '<' : '(';
  if (close != '>' && close != ')') return false;
  std::size_t depth = 0, at = type.size();
  while (at-- > 0) {
    if (type[at] == close) ++depth;
    if (type[at] == open && --depth == 0) break;
  }
  return at < type.size() && type.substr(at + 1, 6) == "lambda";
}
template <class T>
constexpr bool is_closure() {
  return std::is_class_v<T> && !std::is_aggregate_v<T> && names_closure(type_text(pretty_type<T>()));
}

template <class T>
constexpr TreeKind find_kind() {
  using enum TreeKind;
  // clang-format off
  if constexpr (is_leaf<T>::value) return Leaf;
  else if constexpr (ErasedTree<T>) return Erased;
  else if constexpr (HasTreeTrait<T> || FieldAccess::declared<T>) return Fields;
  else if constexpr (is_static_wrapper<T>) return Static;
  else if constexpr (std::is_same_v<T, float>) return Float;
  else if constexpr (std::is_floating_point_v<T>) return Double;
  else if constexpr (std::is_integral_v<T> || std::is_enum_v<T> || std::is_null_pointer_v<T>) return Static;
  else if constexpr (std::is_member_pointer_v<T>) return Static;
  else if constexpr (std::is_pointer_v<T>) return std::is_function_v<std::remove_pointer_t<T>> ? Static : RawPointer;
  else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<bool>>) return Static;
  else if constexpr (std::is_array_v<T>) return CArray;
  else if constexpr (!std::is_class_v<T>) return Unknown;
  else if constexpr (ArrayLike<T>) return FixedArray;
  else if constexpr (TupleLike<T>) return Tuple;
  else if constexpr (ComplexLike<T>) return Complex;
  else if constexpr (std::is_empty_v<T>) return Static;
  else if constexpr (OptionalLike<T>) return Optional;
  else if constexpr (VariantLike<T>) return Variant;
  else if constexpr (MapLike<T>) return Map;
  else if constexpr (SequenceLike<T>) return Sequence;
  else if constexpr (PointerLike<T>) return Pointer;
  else if constexpr (ViewLike<T>) return RawPointer;
  else if constexpr (std::is_aggregate_v<T>) return Fields;
  else if constexpr (is_closure<T>()) return Closure;
  else return Unknown;
  // clang-format on
}

template <class T>
inline constexpr TreeKind tree_kind = find_kind<std::remove_cv_t<T>>();

}  // namespace apsis::detail
