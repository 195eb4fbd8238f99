#pragma once

// The library's own functions given to transformations by name: `grad(sin)`, `vmap(dot)`, `jit(sum)`.
//
// A name such as `sin` stands for several functions, those of the C library among them, and a pointer has no
// default arguments. Parameters of the form `Array (*)(P...)` let the compiler find the one that computes
// with Arrays; LibraryFunction gives the arguments that have defaults.

#include "apsis/core/array.hpp"
#include "apsis/tree/callable.hpp"
#include "apsis/tree/map.hpp"

namespace apsis {

namespace detail {

template <class... P>
constexpr std::size_t count_array_parameters() {
  std::size_t count = 0;
  bool leading = true;
  for (bool is_array : {std::is_same_v<std::decay_t<P>, Array>..., false}) {
    leading = leading && is_array;
    count += leading;
  }
  return count;
}

/// The argument for a parameter that the user leaves out: the place, or options as they are by default.
template <class P>
std::decay_t<P> default_argument([[maybe_unused]] Loc loc) {
  if constexpr (std::is_same_v<std::decay_t<P>, Loc>) {
    return loc;
  } else {
    return std::decay_t<P>();
  }
}

template <class Given, class... P>
class LibraryFunction;
/// Takes the leading Arrays of `P`. A tree: which function it is, is static.
template <std::size_t... given, class... P>
class LibraryFunction<std::index_sequence<given...>, P...> {
  APSIS_FIELDS(LibraryFunction, function_)

 public:
  LibraryFunction(Array (*function)(P...), Loc loc) : function_(function), loc_(loc) {}
  Array operator()(const std::enable_if_t<given + 1 != 0, Array>&... array) const {
    return call(std::index_sequence_for<P...>{}, {&array...});
  }

 private:
  template <std::size_t... i>
  Array call(std::index_sequence<i...>, const Array* const (&arrays)[sizeof...(given)]) const {
    return function_(argument<i, P>(arrays)...);
  }
  template <std::size_t i, class Parameter>
  decltype(auto) argument(const Array* const* arrays) const {
    if constexpr (i < sizeof...(given))
      return (*arrays[i]);
    else
      return default_argument<Parameter>(loc_);
  }
  Array (*function_)(P...);
  Loc loc_;
};

/// What tells the library's functions: they take the place of the call.
template <class... P>
concept TakesPlace = (std::is_same_v<P, Loc> || ...);

template <class P>
inline constexpr bool has_default =
    std::is_class_v<std::decay_t<P>>&& std::is_default_constructible_v<std::decay_t<P>>;

template <class... P>
auto library_function(Array (*f)(P...), Loc loc) {
  static_assert((has_default<P> && ...),
                "a function with a number or a dtype among its parameters: a pointer to it has no default "
                "arguments; write a lambda, as in [](const Array& x) { return sort(x); }");
  return LibraryFunction<std::make_index_sequence<count_array_parameters<P...>()>, P...>(f, loc);
}

}  // namespace detail

// tree_map for functions of the library: `tree_map(zeros_like, model)`.
#define APSIS_TREE_MAP(name, declared, types, parameters, arguments)             \
  template <class... P, class T APSIS_LIST declared>                             \
  requires(detail::TakesPlace<P...>) std::remove_cvref_t<T> name(                \
      Array (*f)(P...), T&& tree, APSIS_LIST parameters Loc loc = Loc::here()) { \
    return detail::name##_at(loc, detail::library_function(f, loc),              \
                             static_cast<T&&>(tree) APSIS_LIST arguments);       \
  }
APSIS_UP_TO_SIX(APSIS_TREE_MAP, tree_map)
#undef APSIS_TREE_MAP

}  // namespace apsis
