#pragma once

// The two ways to tell Apsis what the children of a class are, where reflection cannot know.

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "apsis/tree/reflect.hpp"

/// Lists the fields of a class that is no aggregate (constructors, private members, a base). Anywhere in the
/// class:
///   class Linear : public Layer { APSIS_FIELDS(Linear, weight, bias) … };
/// The class must be copyable; its constructors are not called by unflatten, which copies and assigns leaves.
#define APSIS_FIELDS(Type, ...)                                             \
  friend struct ::apsis::detail::FieldAccess;                               \
  using apsis_fields_of = Type;                                             \
  static constexpr const char* apsis_field_names() { return #__VA_ARGS__; } \
  template <class Visit>                                                    \
  constexpr decltype(auto) apsis_fields(Visit&& visit) {                    \
    return visit(__VA_ARGS__);                                              \
  }                                                                         \
  template <class Visit>                                                    \
  constexpr decltype(auto) apsis_fields(Visit&& visit) const {              \
    return visit(__VA_ARGS__);                                              \
  }

namespace apsis {

/// Makes a tree of a type that is not yours. Specialise with its fields:
///   template <> struct apsis::tree_trait<other::Pose> {
///     static constexpr const char* names = "rotation, translation";
///     static constexpr auto fields(auto& self, auto&& visit) { return visit(self.rotation,
///     self.translation); }
///   };
/// or, for a holder whose content is known at run time only, with `static TreeRef erased(auto& self)`
/// (erased.hpp).
template <class T>
struct tree_trait {
  static constexpr bool unspecialised = true;
};

namespace detail {

template <class T>
concept HasTreeTrait = !requires {
  tree_trait<T>::unspecialised;
};
template <class T>
concept ErasedTree = HasTreeTrait<T> && requires(const T& t) {
  tree_trait<T>::erased(t);
};

struct FieldAccess {
  template <class T>
  static constexpr bool declared = requires {
    typename T::apsis_fields_of;
  };
  template <class T>
  using type = typename T::apsis_fields_of;
  template <class T>
  static constexpr const char* names() {
    return T::apsis_field_names();
  }
  template <class T, class Visit>
  [[gnu::always_inline]] static constexpr decltype(auto) visit(T& t, Visit&& v) {
    return t.apsis_fields(v);
  }
};

/// Calls `visit(field...)` with references to all fields of `t`.
template <class T, class Visit>
[[gnu::always_inline]] constexpr decltype(auto) with_fields(T& t, Visit&& visit) {
  using Bare = std::remove_const_t<T>;
  if constexpr (HasTreeTrait<Bare>) {
    return tree_trait<Bare>::fields(t, visit);
  } else if constexpr (FieldAccess::declared<Bare>) {
    static_assert(
        std::is_same_v<Bare, FieldAccess::type<Bare>>,
        "this class inherits APSIS_FIELDS from its base: give it an APSIS_FIELDS(Type, ...) of its own, "
        "which lists the members of both");
    return FieldAccess::visit(t, visit);
  } else {
    return Bind<field_count<Bare>>::call(t, visit);
  }
}

template <class... T>
struct TypeList {
  static constexpr std::size_t size = sizeof...(T);
};
struct MakeTypeList {
  template <class... T>
  constexpr TypeList<T...> operator()(T&...) const {
    return {};
  }
};
/// The types of the fields of `T`, const where the member is.
template <class T>
using field_types = decltype(with_fields(std::declval<T&>(), MakeTypeList{}));

/// The i-th of a comma-separated list of expressions, without blanks and qualification.
constexpr std::string_view listed_name(std::string_view list, std::size_t index) {
  for (; index > 0; --index) list.remove_prefix(list.find(',') + 1);
  list = list.substr(0, list.find(','));
  while (!list.empty() && list.back() == ' ') list.remove_suffix(1);
  std::size_t begin = list.find_last_of(" :>.");
  return begin == std::string_view::npos ? list : list.substr(begin + 1);
}

/// The name of the i-th field of `T`.
template <class T, std::size_t index>
constexpr std::string_view field_name() {
  if constexpr (HasTreeTrait<T>) {
    return listed_name(tree_trait<T>::names, index);
  } else if constexpr (FieldAccess::declared<T>) {
    return listed_name(FieldAccess::names<T>(), index);
  } else {
    return member_name<T, field_count<T>, index>();
  }
}

}  // namespace detail
}  // namespace apsis
