#pragma once

// A callable with its first arguments given, as a tree.
//
//   Partial scaled{[](const Array& a, const Array& x) { return a * x; }, array(2.)};
//   Array y = scaled(x);                       // and `scaled` may be an argument, a field, a loop's carry

#include "apsis/transform/transformed.hpp"

namespace apsis {

namespace detail {
/// Parameters after the first `count`; void where they are not known.
template <std::size_t count, class Parameters>
struct DropParameters {
  using type = void;
};
template <class... P>
struct DropParameters<0, TypeList<P...>> {
  using type = TypeList<P...>;
};
template <std::size_t count, class First, class... P>
requires(count > 0) struct DropParameters<count, TypeList<First, P...>>
    : DropParameters<count - 1, TypeList<P...>> {
};
}  // namespace detail

/// `Partial{f, a, b}(c)` is `f(a, b, c)`. A tree: the leaves of `f` and of the given arguments are its
/// leaves, so they are traced, differentiated and mapped wherever it is passed. (JAX: tree_util.Partial.)
template <class F, class... A>
class Partial : public detail::Transformed<
                    Partial<F, A...>, F,
                    typename detail::DropParameters<sizeof...(A), detail::parameters_of<F>>::type> {
  APSIS_FIELDS(Partial, function, arguments)

 public:
  using apsis_effects = void;
  F function;
  std::tuple<A...> arguments;

  explicit Partial(F f, A... a) : function(static_cast<F&&>(f)), arguments(static_cast<A&&>(a)...) {
    detail::check_callable<F>();
  }
  template <class... Rest>
  auto call(const Rest&... rest) const {
    return std::apply([&](const A&... a) { return function(a..., rest...); }, arguments);
  }
};
template <class F, class... A>
Partial(F, A...) -> Partial<F, detail::argument_t<A>...>;

}  // namespace apsis
