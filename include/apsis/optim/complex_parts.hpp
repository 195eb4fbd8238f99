#pragma once

// Optimisers over complex parameters, by their real and imaginary parts.

#include "apsis/optim/chain.hpp"

namespace apsis::optim {

namespace detail {
Array real_part(const Array& x);
Array imaginary_part(const Array& x);
Array of_parts(const Array& like, const Array& real, const Array& imaginary);
template <class P>
std::pair<P, P> parts_of(const P& tree) {
  return {tree_map(real_part, tree), tree_map(imaginary_part, tree)};
}
}  // namespace detail

/// What `split_real_and_imaginary` makes. Its state is that of `inner` over a pair of trees: the real parts
/// with what is real, and the imaginary parts.
template <class T>
struct SplitRealAndImaginary {
  T inner;

  template <class P>
  using State = state_t<T, std::pair<P, P>>;
  template <class P>
  State<P> init(const P& params, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    return detail::init(inner, detail::parts_of(params), loc);
  }
  template <class P>
  std::pair<P, State<P>> update(const P& gradient, const State<P>& state, const P& params,
                                const Extra& extra = {}, Loc loc = Loc::here()) const {
    const LocScope place(loc);
    auto [change, next] =
        detail::update(inner, detail::parts_of(gradient), state, detail::parts_of(params), extra, loc);
    return {tree_map(detail::of_parts, gradient, change.first, change.second, loc), std::move(next)};
  }
};
/// Lets `inner` see each complex parameter as two real ones.
template <class T>
SplitRealAndImaginary<T> split_real_and_imaginary(T inner) {
  return {std::move(inner)};
}

}  // namespace apsis::optim
