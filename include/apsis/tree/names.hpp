#pragma once

// Names of types and of members, read from the text the compiler prints for a template's argument. They are
// instantiated on printing and error paths only.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "apsis/tree/bind.hpp"

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif

namespace apsis::detail {

template <class T>
constexpr const char* pretty_type() {
  return __PRETTY_FUNCTION__;
}
template <auto pointer>
constexpr const char* pretty_member() {
  return __PRETTY_FUNCTION__;
}

/// An object that is declared and never defined: a pointer to one of its members is a constant whose printed
/// form ends in the member's name.
template <class T>
struct External {
  const T value;
  static const External object;
};
template <class T>
consteval const T& external() {
  return External<T>::object.value;
}

/// clang takes a pointer to a sub-object as a template argument only inside a class object.
template <class T>
struct MemberPointer {
  const T* pointer;
};

/// Picks one of several pointers without recursion: those before it are taken as `const void*`, those after
/// by `...`.
template <class Before>
struct PickMember;
template <std::size_t... before>
struct PickMember<std::index_sequence<before...>> {
  template <class Member>
  static constexpr MemberPointer<Member> pick(decltype(before, static_cast<const void*>(nullptr))...,
                                              const Member* picked, ...) {
    return {picked};
  }
  template <class... Member>
  constexpr auto operator()(const Member&... member) const {
    return pick(&member...);
  }
};
template <class T, std::size_t count, std::size_t index>
consteval auto member_pointer() {
  return Bind<count>::call(external<T>(), PickMember<std::make_index_sequence<index>>{});
}

/// The text between the last `.`, `:` or `&` and the closing brace of `…{&object.value.name}]` (clang) or
/// `…{(& External<S>::object.External<S>::value.S::name)}…]` (gcc).
constexpr std::string_view last_identifier(std::string_view text) {
  std::size_t end = text.rfind('}');
  if (end != std::string_view::npos && end > 0 && text[end - 1] == ')') --end;
  std::size_t begin = end;
  auto part_of_name = [](char c) {
    return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  while (begin > 0 && part_of_name(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

/// The name of field `index` of an aggregate with `count` fields.
template <class T, std::size_t count, std::size_t index>
constexpr std::string_view member_name() {
  return last_identifier(pretty_member<member_pointer<T, count, index>()>());
}

constexpr std::string_view type_text(std::string_view pretty) {
  std::size_t begin = pretty.find("T = ") + 4;
  std::size_t end = pretty.rfind(']');
  return pretty.substr(begin, end - begin);
}

/// A name as a template argument, so that compilers show it when they report a failed assertion.
template <std::size_t size>
struct FixedName {
  char text[size + 1] = {};
  constexpr explicit FixedName(std::string_view name) {
    for (std::size_t i = 0; i < size; ++i) text[i] = name[i];
  }
};

/// `ns::Linear<float>` as `Linear`, closures as `lambda`.
std::string short_type_name(std::string_view full);

}  // namespace apsis::detail

#ifdef __clang__
#pragma clang diagnostic pop
#endif

namespace apsis {

/// The full name of a type, as the compiler spells it.
template <class T>
constexpr std::string_view type_name() {
  return detail::type_text(detail::pretty_type<T>());
}

}  // namespace apsis
